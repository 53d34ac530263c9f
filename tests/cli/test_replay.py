"""`replay` as a command: exit codes, reports, options, and hostile files."""

import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

from realtime_session.cli import main

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "session_fixture.json"
SECRET = "a-token-nobody-prints"
NEXT_SECRET = "another-token-nobody-prints"
HEADER = {"session": {"session_id": "s1", "resume_token": SECRET}}
REPORT_KEYS = {"file", "profile", "events", "accepted", "ignored", "rejected", "violations", "findings", "measures",
               "state", "state_digest"}
VIOLATION_KEYS = {"index", "line", "event_id", "type", "rule", "layer", "phase", "path", "expected", "actual",
                  "message"}


def event(event_id, type_, at_ms, **payload):
    return {"event_id": event_id, "type": type_, "at_ms": at_ms, "payload": payload}


STORY = [
    event("e1", "audio.frame", 0, turn_id="t1", sequence=0, duration_ms=20, speech=True),
    event("e2", "turn.commit", 100, turn_id="t1"),
    event("e3", "response.started", 200, response_id="r1", turn_id="t1"),
    event("e4", "response.audio", 300, response_id="r1", sequence=0, duration_ms=200),
    event("e5", "user.interrupt", 400, turn_id="t2", response_id="r1", reason="barge_in"),
    event("e6", "response.completed", 450, response_id="r1"),
    event("e7", "transport.disconnected", 500, reason="lost", resume_token=NEXT_SECRET),
    event("e8", "transport.resumed", 900, resume_token=NEXT_SECRET),
    event("e9", "session.completed", 1000, reason="done"),
]
JUMP = event("x1", "audio.frame", 50, turn_id="t1", sequence=7, duration_ms=20, speech=True)


def text_of(*events, header=HEADER):
    return "".join(json.dumps(value) + "\n" for value in (header, *events))


TAKE_A_WORD = ("--format", "--until", "--turn")


@pytest.fixture
def command(tmp_path, capsys, monkeypatch):
    """Runs `replay` on texts or bytes (written to files) and options: (exit code, stdout, stderr)."""
    def run(*arguments, stdin=None):
        words = []
        for number, argument in enumerate(arguments):
            if isinstance(argument, str) and (argument.startswith("-") or words and words[-1] in TAKE_A_WORD):
                words.append(argument)
            elif isinstance(argument, pathlib.Path):
                words.append(str(argument))
            else:
                path = tmp_path / f"trace{number}.jsonl"
                path.write_bytes(argument if isinstance(argument, bytes) else argument.encode())
                words.append(str(path))
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Unseekable(stdin.encode()), encoding="utf-8"))
        code = main(["replay", *words])
        out, err = capsys.readouterr()
        assert SECRET not in out + err and NEXT_SECRET not in out + err
        return code, out, err
    return run


class Unseekable(io.BytesIO):
    def seekable(self):
        return False


# --- exit codes ---


def test_a_finished_trace_without_a_violation_passes(command):
    code, out, err = command(text_of(*STORY))
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("PASS")


def test_the_example_passes(command):
    code, out, err = command(EXAMPLE)
    assert (code, err) == (0, "")
    assert "1 ignored" in out.splitlines()[0]


def test_a_violation_fails_and_is_named_with_its_place(command, tmp_path):
    code, out, err = command(text_of(STORY[0], JUMP, *STORY[1:]))
    assert (code, err) == (1, "")
    assert out.splitlines()[0].startswith("FAIL")
    assert f"{tmp_path / 'trace0.jsonl'}:3" in out
    for part in ("audio/contiguous", "x1", "listening", "/payload/sequence", "numbered 0, 1, 2"):
        assert part in out


def test_an_unfinished_trace_is_neither(command):
    code, out, err = command(text_of(*STORY[:4]))
    assert (code, err) == (3, "")
    assert out.splitlines()[0].startswith("UNFINISHED")


def test_a_header_alone_is_unfinished(command):
    assert command(text_of())[0] == 3
    assert command('{"session": {"session_id": "s", "resume_token": "t"}, "events": []}')[0] == 3


def test_findings_fail_only_when_strict(command):
    full = {"session": {**HEADER["session"], "profile": "full_duplex"}}
    flagged = text_of(event("e1", "error.reported", 0, error_type="internal", ref_event_id="e0"),
                      event("e2", "session.completed", 1, reason="done"), header=full)
    code, out, _ = command(flagged)
    assert code == 0 and "error/uncorrelated" in out
    code, out, _ = command(flagged, "--strict")
    assert code == 1 and out.startswith("FAIL")
    assert command(text_of(*STORY), "--strict")[0] == 0
    assert command(text_of(*STORY[:4]), "--strict")[0] == 1, "a trace that just stops is a finding"


def test_of_several_files_the_worst_code_counts(command):
    good, bad, open_end = text_of(*STORY), text_of(JUMP), text_of()
    assert command(good, good)[0] == 0
    assert command(good, open_end)[0] == 3
    assert command(open_end, bad, good)[0] == 1
    code, out, err = command(bad, "", good)
    assert code == 2
    assert [line.split()[0] for line in out.splitlines() if line.startswith(("PASS", "FAIL"))] == ["FAIL", "PASS"]
    assert len(err.splitlines()) == 1


# --- what it prints ---


def test_without_keep_going_it_stops_at_the_first_violation(command):
    code, out, _ = command(text_of(JUMP, *STORY), "--format", "json")
    report = json.loads(out)
    assert (code, report["events"], report["rejected"], report["accepted"]) == (1, 1, 1, 0)


def test_keep_going_skips_what_was_rejected(command):
    code, out, _ = command(text_of(JUMP, *STORY, STORY[3], JUMP), "--keep-going", "--format", "json")
    report = json.loads(out)
    assert (code, report["events"], report["accepted"], report["ignored"], report["rejected"]) == (1, 12, 9, 1, 2)
    assert [(v["index"], v["line"], v["rule"]) for v in report["violations"]] == [
        (0, 2, "audio/contiguous"), (11, 13, "event/time")]


def test_the_json_report_has_the_documented_keys(command, tmp_path):
    _, out, _ = command(text_of(STORY[0], JUMP), "--format", "json")
    report = json.loads(out)
    assert REPORT_KEYS <= set(report)
    assert report["file"] == str(tmp_path / "trace0.jsonl")
    assert report["profile"] == "half_duplex"
    violation, = report["violations"]
    assert set(violation) == VIOLATION_KEYS
    assert {key: violation[key] for key in ("index", "line", "event_id", "type", "rule", "layer", "phase", "path",
                                            "expected", "actual")} == {
        "index": 1, "line": 3, "event_id": "x1", "type": "audio.frame", "rule": "audio/contiguous",
        "layer": "perception", "phase": "listening", "path": "/payload/sequence", "expected": "1", "actual": "7"}
    assert all(set(measure) == {"value", "n", "unit", "reason"} for measure in report["measures"].values())
    assert report["state"]["phase"] == "listening"
    assert len(report["state_digest"]) == 64


def test_a_finding_in_the_report_names_its_events(command):
    _, out, _ = command(text_of(), "--format", "json")
    finding, = json.loads(out)["findings"]
    assert (finding["rule"], finding["layer"], finding["event_ids"]) == ("session/unfinished", "harness", [])
    assert set(finding) == {"rule", "layer", "event_ids", "message"}
    full = {"session": {**HEADER["session"], "profile": "full_duplex"}}
    _, out, _ = command(text_of(event("e1", "error.reported", 0, error_type="internal", ref_event_id="e0"),
                                header=full), "--format", "json")
    assert json.loads(out)["findings"][0]["event_ids"] == ["e1"]


def test_several_files_give_a_list(command):
    _, out, _ = command(text_of(*STORY), "", text_of(JUMP), "--format", "json")
    first, broken, last = json.loads(out)
    assert (first["rejected"], last["rejected"]) == (0, 1)
    assert broken["error"]["code"] == "trace/header"


def test_until_stops_after_so_many_events(command):
    for number in (0, 3):
        code, out, _ = command(text_of(*STORY), "--until", str(number), "--format", "json")
        report = json.loads(out)
        assert (code, report["events"]) == (3, number)
        assert report["findings"] == [], "what comes later is not known, so nothing is said about the end"
    assert json.loads(command(text_of(*STORY), "--until", "99", "--format", "json")[1])["events"] == 9
    assert command(text_of(*STORY[:2], JUMP), "--until", "2")[0] == 3, "the violation comes later"


@pytest.mark.parametrize("number", ["-1", "x", "1.5"])
def test_until_wants_a_number(command, number):
    code, out, err = command(text_of(), f"--until={number}")
    assert (code, out) == (2, "") and "--until" in err


def test_turn_prints_only_its_events(command):
    code, out, _ = command(text_of(*STORY), "--turn", "t2")
    steps = "\n".join(out.splitlines()[1:])
    assert code == 0 and "user.interrupt" in steps
    assert "turn.commit" not in steps and "response.audio" not in steps
    first = "\n".join(command(text_of(*STORY), "--turn", "t1")[1].splitlines()[1:])
    assert all(type_ in first for type_ in ("audio.frame", "turn.commit", "response.started", "response.audio"))
    assert "transport.resumed" not in first


def test_turn_survives_events_of_every_form(command):
    odd = [[], 7, {"payload": 1}, event("y", "turn.commit", 0, turn_id=["t1"]), {**JUMP, "payload": {"response_id": {}}}]
    assert command(text_of(*odd), "--turn", "t1", "--keep-going")[0] == 1


def test_pretty_prints_every_event_measures_and_state(command):
    frames = [event(f"f{n}", "audio.frame", n, turn_id="t1", sequence=n, duration_ms=20, speech=True)
              for n in range(5)]
    _, folded, _ = command(text_of(*frames))
    _, pretty, _ = command(text_of(*frames), "--pretty")
    assert folded.count("audio.frame") == 1 and pretty.count("audio.frame") == 5
    assert "response_latency_ms" in pretty and "arrival_jitter_ms" in pretty
    digest = json.loads(command(text_of(*frames), "--format", "json")[1])["state_digest"]
    assert digest in pretty


def test_effects_and_phases_are_shown(command):
    _, out, _ = command(text_of(*STORY))
    for part in ("cancel_response(r1)", "clear_playback(r1)", "save_checkpoint", "restore_checkpoint", "end_session",
                 "speaking -> listening", "disconnected -> listening"):
        assert part in out


def test_stdin_is_read_as_a_file_is_and_its_verdict_comes_last(command):
    code, out, err = command("-", stdin=text_of(*STORY))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].startswith("PASS")
    code, out, _ = command("-", "--format", "json", stdin=text_of(*STORY, STORY[0]))
    assert (code, json.loads(out)["ignored"], json.loads(out)["file"]) == (0, 1, "-")
    assert command("-", stdin="")[0] == 2


def test_step_goes_on_with_enter_and_stops_with_q(command):
    code, out, _ = command(text_of(*STORY), "--step", stdin="\n" * 20)
    assert code == 0 and out.count("response.audio") == 1
    code, out, _ = command(text_of(*STORY), "--step", stdin="\n\nq\n")
    assert code == 3
    assert "response.started" in out and "response.audio" not in out
    assert command(text_of(*STORY), "--step", stdin="")[0] == 0, "the end of stdin is no hang"
    assert command("-", "--step", stdin=text_of(*STORY))[0] == 0


def test_only_the_first_thousand_violations_are_kept_and_all_are_counted(command):
    jumps = [event(f"j{n}", "audio.frame", 0, turn_id="t", sequence=9, duration_ms=20, speech=True)
             for n in range(1200)]
    odd = [event(f"o{n}", "vendor.thing", 0) for n in range(300)]
    code, out, _ = command(text_of(*jumps, *odd), "--keep-going", "--format", "json")
    report = json.loads(out)
    assert (code, report["rejected"], len(report["violations"])) == (1, 1500, 1000)
    assert report["rejected_by_rule"] == {"audio/contiguous": 1200, "event/unknown_type": 300}
    assert report["violations"][-1]["line"] == 1001
    _, out, _ = command(text_of(*jumps, *odd), "--keep-going")
    assert "audio/contiguous 1200" in out and "event/unknown_type 300" in out


def test_findings_are_kept_by_the_thousand_and_counted_too(command):
    full = {"session": {**HEADER["session"], "profile": "full_duplex"}}
    errors = [event(f"n{n}", "error.reported", 0, error_type="internal", ref_event_id="no") for n in range(1100)]
    _, out, _ = command(text_of(*errors, header=full), "--format", "json")
    report = json.loads(out)
    assert len(report["findings"]) == 1000
    assert report["flagged_by_rule"] == {"error/uncorrelated": 1100, "session/unfinished": 1}
    assert "error/uncorrelated 1100" in command(text_of(*errors, header=full))[1]


# --- the token ---

LEAKS = {
    "a wrong token": [STORY[6], event("x", "transport.resumed", 500, resume_token=SECRET)],
    "no string": [STORY[6], event("x", "transport.resumed", 500, resume_token=[SECRET])],
    "an object": [STORY[6], event("x", "transport.resumed", 500, resume_token={"resume_token": SECRET})],
    "a misspelt key": [event("x", "transport.resumed", 500, resume_tokn=SECRET)],
    "a misspelt key beside the right one": [event("x", "transport.resumed", 500, resume_token=SECRET, token=SECRET)],
    "an unknown type": [event("x", "transport.reconnected", 500, resume_token=SECRET)],
    "a payload that is a list": [{**STORY[7], "payload": [SECRET]}],
    "a payload that is a string": [{**STORY[7], "payload": SECRET}],
    "an event that is a list": [["transport.resumed", SECRET]],
    "an event that is a string": [SECRET],
    "an unknown envelope key": [{**STORY[7], "resume_token": SECRET}],
    "a source": [{**STORY[7], "source": {"raw_type": [SECRET]}}],
    "a transcript": [event("x", "turn.transcript", 0, turn_id="t1", text="it is " + SECRET, final=True)],
    "an error": [event("x", "error.reported", 0, error_type="internal", code="E", message="bad " + SECRET)],
    "the token before it was replaced": [STORY[6], event("x", "turn.transcript", 500, turn_id="t1", text=SECRET,
                                                         final=True)],
    "the token that replaced it": [STORY[6], event("x", "turn.transcript", 500, turn_id="t1", text=NEXT_SECRET,
                                                   final=True)],
    "tool arguments": [*STORY[:3], event("x", "tool.call", 500, call_id="c", response_id="r1", name="go",
                                         arguments={"resume_token": SECRET})],
}


@pytest.mark.parametrize("events", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("options", [(), ("--pretty", "--keep-going"), ("--format", "json")], ids=str)
def test_the_resume_token_is_never_printed(command, events, options):
    command(text_of(*events), *options)  # the fixture looks at the output


@pytest.mark.parametrize("session", [
    SECRET, [SECRET], {"session_id": "s", "resume_token": [SECRET]},
    {"session_id": "s", "resume_token": {"a": SECRET}}, {"session_id": "s", "resume_token": SECRET, "token": SECRET},
], ids=str)
def test_a_header_that_is_refused_keeps_its_token(command, session):
    code, _, err = command(text_of(header={"session": session}))
    assert code == 2 and len(err.splitlines()) == 1


# --- hostile files ---

FRAME = json.dumps(STORY[0])
HOSTILE = {
    "an empty file": ("", "trace/header"),
    "white space": (" \r\n\t\n", "trace/header"),
    "a zero byte": ("\0" * 1000, "json/syntax"),
    "a list of events": (json.dumps(STORY * 300), "trace/header"),
    "a number": ("7", "trace/header"),
    "no session": ('{"events": []}', "trace/header"),
    "no session first": (FRAME + "\n" + FRAME, "trace/header"),
    "an empty object": ("{}", "trace/header"),
    "a case alone": ('{"case": {}}', "trace/header"),
    "session null": ('{"session": null}', "trace/header"),
    "another key": ('{"session": {}, "meta": 1}', "trace/header"),
    "session twice": (text_of()[:-2] + ', "session": {}, "events": []}', "json/duplicate_key"),
    "session after events twice": (text_of()[:-2] + ', "events": [], "session": {}}', "json/duplicate_key"),
    "events twice": (text_of()[:-2] + ', "events": [], "events": []}', "json/duplicate_key"),
    "events first, session twice": ('{"events": [], "session": {}, "session": {}}', "json/duplicate_key"),
    "case twice": ('{"case": 1, "events": [], ' + text_of()[1:-2] + ', "case": 1}', "json/duplicate_key"),
    "events an object": (text_of()[:-2] + ', "events": {}}', "json/syntax"),
    "no colon": ('{"session"}', "json/syntax"),
    "a bare key": ("{session: 1}", "json/syntax"),
    "a comma at the end": (text_of()[:-2] + ", }", "json/syntax"),
    "a comma after the events": (text_of()[:-2] + ', "events": [], }', "json/syntax"),
    "an empty event": (text_of()[:-2] + ', "events": [,]}', "json/syntax"),
    "a comma after an event": (text_of()[:-2] + f', "events": [{FRAME},]}}', "json/syntax"),
    "two events unparted": (text_of()[:-2] + f', "events": [{FRAME} {FRAME}]}}', "json/syntax"),
    "more behind the document": (text_of()[:-2] + ', "events": []} x', "json/syntax"),
    "a document cut short": (text_of()[:-2] + ', "events": [' + FRAME, "json/syntax"),
    "a document cut inside an event": (text_of()[:-2] + ', "events": [' + FRAME[:-9], "json/syntax"),
    "more behind the header": (text_of()[:-1] + " {}\n", "json/syntax"),
    "two events on a line": (text_of() + FRAME + " " + FRAME + "\n", "json/syntax"),
    "a torn last line": (text_of() + FRAME[:-3], "json/syntax"),
    "a comment": (text_of() + "// nothing\n", "json/syntax"),
    "a bracket": (text_of() + "]\n", "json/syntax"),
    "brackets": (text_of() + "[" * 100_000, "json/too_deep"),
    "brackets in a document": (text_of()[:-2] + ', "events": [' + "[" * 100_000, "json/too_deep"),
    "1e400": (text_of() + FRAME.replace("20", "1e400"), "json/non_finite"),
    "1e400 in a document": (text_of()[:-2] + ', "events": [' + FRAME.replace("20", "1e400") + "]}", "json/non_finite"),
    "1e400 in the header": ('{"session": {"session_id": 1e400}}', "json/non_finite"),
    "an event of a megabyte": (text_of() + '"' + "x" * (1 << 20) + '"', "json/too_large"),
    "such an event in a document": (text_of()[:-2] + ', "events": ["' + "x" * (1 << 20) + '"]}', "json/too_large"),
    "a wide event in a document": (text_of()[:-2] + ', "events": ["' + "é" * (1 << 19) + '"]}', "json/too_large"),
    "a line of blanks": (text_of() + " " * (2 << 20), "json/too_large"),
    "a lone surrogate": (text_of() + FRAME.replace("t1", "\\ud800"), "json/lone_surrogate"),
    "invalid UTF-8": (text_of().encode() + b'{"event_id": "\xff"}\n', "json/encoding"),
    "invalid UTF-8 in the header": (b'{"session": "\xff"}\n', "json/encoding"),
    "invalid UTF-8 in a document": (text_of()[:-2].encode() + b', "events": ["\xff"]}', "json/encoding"),
    "a character cut in two": (text_of()[:-2].encode() + b', "events": ["\xc3', "json/encoding"),
    "UTF-16": (text_of().encode("utf-16"), "json/encoding"),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbf" + text_of().encode(), "json/syntax"),
    "a byte order mark inside": (text_of().encode() + b"\xef\xbb\xbf" + FRAME.encode(), "json/syntax"),
    "another white space": (text_of() + "\u00a0\n", "json/syntax"),
    "a form feed": (text_of() + "\f\n", "json/syntax"),
}


@pytest.mark.parametrize("data, code", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
def test_what_cannot_be_read_gets_one_line_and_exit_2(command, data, code, piped, monkeypatch, capsys):
    if piped:
        raw = data if isinstance(data, bytes) else data.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Unseekable(raw), encoding="utf-8"))
        result = command("-")
        name = "-"
    else:
        result = command(data)
        name = "trace0.jsonl"
    assert result[0] == 2
    line, = result[2].splitlines()
    assert (code in line or piped and "trace/header" in line) and name in line and len(line) < 700
    assert line.startswith("error: ")


def test_a_missing_file_and_a_folder(command, tmp_path):
    for path in (tmp_path / "nothing.jsonl", tmp_path):
        code, out, err = command(path)
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1 and path.name in err
        code, out, err = command(path, "--format", "json")
        assert code == 2 and json.loads(out)["error"]["code"] == "input/unreadable"


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_a_device_that_never_ends(command):
    code, _, err = command(pathlib.Path("/dev/zero"))
    assert code == 2 and "json/syntax" in err


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are text here")
@pytest.mark.parametrize("options", [(), ("--format", "json")], ids=str)
def test_a_file_name_that_is_no_text(capsys, tmp_path, options):
    name = os.fsencode(tmp_path) + b"/odd\xff\n.jsonl"
    with open(name, "wb") as file:
        file.write(text_of(*STORY).encode())
    assert main(["replay", os.fsdecode(name), *options]) == 0
    out, err = capsys.readouterr()
    assert err == "" and "odd" in out
    assert main(["replay", os.fsdecode(name) + "x", *options]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_errors_are_located(command):
    late = text_of(*STORY[:3]) + "\n\r\n  " + FRAME.replace('"t1"', '"\\ud800"') + "\n"
    code, out, err = command(late, "--format", "json")
    error = json.loads(out)["error"]
    assert (error["line"], error["path"]) == (7, "/payload/turn_id")
    assert f":7:{error['column']}:" in err
    assert late.splitlines()[6][error["column"] - 1:].startswith(("\\ud800", '"\\ud800'))


@pytest.mark.parametrize("size", [10, 300_000, 3_000_000])
def test_the_column_in_a_document_of_one_line_is_that_of_the_file(command, size):
    """However much of the file was read and forgotten before."""
    head = json.dumps(HEADER)[:-1] + ', "events": ['
    good = []
    while len(head) + sum(map(len, good)) < size:
        good.append(json.dumps(event(f"n{len(good)}", "turn.transcript", 0, turn_id="t", text="x" * 1000, final=True))
                    + ", ")
    text = head + "".join(good) + '{"event_id": oops}]}'
    code, out, _ = command(text, "--format", "json")
    error = json.loads(out)["error"]
    assert (code, error["line"], error["column"]) == (2, 1, text.index("oops") + 1)
    assert error["path"].startswith(f"/events/{len(good)}")


# --- bounded memory ---

# The peak that getrusage gives would be at least that of the process that started this one.
WATCHED = """
import sys
from realtime_session.cli import main
code = main(["replay", sys.argv[1]])
with open("/proc/self/status", encoding="utf-8") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
sys.exit(code)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak of resident memory is not told here")
@pytest.mark.parametrize("head", [text_of().encode(), text_of()[:-2].encode() + b', "events": ['],
                         ids=["lines", "document"])
def test_an_event_of_fifty_megabytes_is_refused_in_little_memory(tmp_path, head):
    path = tmp_path / "long.jsonl"
    with open(path, "wb") as file:
        file.write(head + b'{"event_id": "')
        for _ in range(50):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n')
    done = subprocess.run([sys.executable, "-B", "-c", WATCHED, str(path)], cwd=ROOT, capture_output=True, text=True,
                          timeout=60)
    path.unlink()
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and "json/too_large" in done.stderr
    assert int(done.stdout) < 100 * 1024
