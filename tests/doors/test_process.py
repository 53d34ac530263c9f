"""The process door with children that misbehave: always a clear trouble, never a hang, nothing left running."""

import os
import shlex
import sys
import time

import pytest

from realtime_session.doors.process import ChildProcess
from realtime_session.doors.trouble import Trouble
from realtime_session.values.errors import InputError

ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    print(json.dumps({"n": message["n"], "got": message.get("what")}), flush=True)
"""


def child(tmp_path, source, timeout_s=5.0):
    script = tmp_path / "subject.py"
    script.write_text(source, encoding="utf-8")
    process = ChildProcess(f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}", timeout_s)
    process.start()
    return process


def trouble_of(process, messages=1):
    with pytest.raises(Trouble) as caught:
        process.talk([{"what": i} for i in range(messages)])
    assert not process.running
    return caught.value


def gone(pid):
    """Whether no process with this id runs any more (a moment is given to the system)."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_answers_come_in_order_and_the_child_ends_at_bye(tmp_path):
    process = child(tmp_path, ECHO)
    pid = process.pid
    assert [a["got"] for a in process.talk([{"what": i} for i in range(50)])] == list(range(50))
    assert [a["n"] for a in process.talk([{"what": "ü"}])] == [51]
    assert process.stop({"cmd": "bye"}) == 0
    assert gone(pid)


def test_more_than_the_pipes_hold_passes_both_ways(tmp_path):
    process = child(tmp_path, ECHO)
    big = "x" * 50_000
    assert all(a["got"] == big for a in process.talk([{"what": big}] * 40))
    process.stop({"cmd": "bye"})


def test_a_number_keeps_its_point(tmp_path):
    process = child(tmp_path, "import sys\nfor l in sys.stdin:\n print('{\"n\":1,\"point\":%s}' % "
                              "str('1.0' in l).lower(), flush=True)")
    assert process.talk([{"what": 1.0}])[0]["point"] is True
    process.stop()


@pytest.mark.parametrize("source, code, words", [
    ("import sys; sys.stdin.readline(); sys.stderr.write('boom'); sys.exit(3)", "subject/ended", "exit code 3"),
    ("import sys; sys.stdin.readline(); print('hello')", "subject/garbage", "n=1 is not JSON"),
    ("import sys; sys.stdin.readline(); print('[1]')", "subject/garbage", "not a JSON object"),
    ("import sys; sys.stdin.readline(); print('{\"n\":7}')", "subject/wrong_n", "n=1, got n=7"),
    ("import sys; sys.stdin.readline(); print('{\"n\":true}')", "subject/wrong_n", "got n=true"),
    ("import sys; sys.stdin.readline(); print('{\"n\":1,\"n\":1}')", "subject/garbage", "json/duplicate_key"),
    ("import sys; sys.stdin.readline(); sys.stdout.buffer.write(b'{\"n\":1,\"a\":\"\\xff\"}\\n')",
     "subject/encoding", "UTF-8"),
    ("import sys; sys.stdin.readline(); print('{\"n\":1}\\n{\"n\":2}')", "subject/unasked", "nobody asked"),
    ("import sys\nsys.stdin.readline()\nwhile True: sys.stdout.write('x' * 65536)", "subject/too_large", "1048576"),
    ("import os, sys; sys.stdin.readline(); os.abort()", "subject/ended", "exit code -6"),
])
def test_each_misbehaviour_has_its_name(tmp_path, source, code, words):
    trouble = trouble_of(child(tmp_path, source))
    assert (trouble.code, words in trouble.message) == (code, True), str(trouble)


def test_silence_is_a_time_out(tmp_path):
    process = child(tmp_path, "import time; time.sleep(60)", timeout_s=0.3)
    pid = process.pid
    assert trouble_of(process).code == "subject/timeout"
    assert gone(pid)


def test_a_flood_of_stderr_is_no_answer_and_only_its_end_is_kept(tmp_path):
    process = child(tmp_path, "import sys\nwhile True: sys.stderr.write('noise\\n' * 1000)", timeout_s=0.3)
    trouble = trouble_of(process)
    assert trouble.code == "subject/timeout"
    assert "noise" in trouble.stderr and len(trouble.stderr) < 5000


def test_stderr_is_quoted_with_control_characters_escaped(tmp_path):
    process = child(tmp_path, "import sys; sys.stdin.readline(); sys.exit('no \\x1b[31mtools')")
    trouble = trouble_of(process)
    assert trouble.stderr == "no \\u001b[31mtools"
    assert "stderr: no" in str(trouble)


def test_the_answers_before_the_end_are_kept(tmp_path):
    process = child(tmp_path, "import sys\nfor i in (1, 2):\n sys.stdin.readline(); print('{\"n\":%d}' % i, flush=True)")
    trouble = trouble_of(process, messages=5)
    assert [a["n"] for a in trouble.answers] == [1, 2]
    assert "before it answered n=3" in trouble.message


def test_a_grandchild_does_not_survive(tmp_path):
    process = child(tmp_path, "import subprocess, sys\n"
                              "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
                              "sys.stdin.readline(); print('{\"n\":1,\"pid\":%d}' % p.pid, flush=True)\n"
                              "sys.stdin.readline()")
    pid = process.talk([{"what": 1}])[0]["pid"]
    process.stop({"cmd": "bye"})
    assert gone(pid)


def test_a_child_that_ignores_bye_is_ended(tmp_path):
    process = child(tmp_path, ECHO + "\nimport time\ntime.sleep(60)")
    pid = process.pid
    process.talk([{"what": 1}])
    assert process.stop({"cmd": "bye"}) == -9
    assert gone(pid)


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(Trouble) as caught:
        ChildProcess("/nowhere/subject --fast").start()
    assert caught.value.code == "subject/cannot_start" and "/nowhere/subject" in caught.value.message


@pytest.mark.parametrize("command", ["", "   ", "python 'unclosed"])
def test_a_command_that_cannot_be_read_is_a_usage_error(command):
    with pytest.raises(InputError) as caught:
        ChildProcess(command)
    assert caught.value.code == "subject/command"
