"""Talking JSON Lines with a child process, whatever it does (crash, silence, garbage, flood).

Both pipes are read and written in one loop, so neither side can block the other; a deadline runs from
answer to answer. POSIX only (pipes that can be polled, process groups).
"""
from __future__ import annotations

import json
import os
import selectors
import shlex
import signal
import subprocess
import time

from realtime_session.doors.trouble import Trouble
from realtime_session.values.errors import InputError, one_line, show
from realtime_session.values.strict_json import JsonError, parse

MAX_ANSWER_BYTES = 1 << 20
_STDERR_TAIL = 4000
_BYE_SECONDS = 1.0


class ChildProcess:
    """One child process that answers numbered messages. `command` is split like a shell would, without a
    shell; `timeout_s` is the longest wait for one answer in seconds."""

    def __init__(self, command, timeout_s=5.0):
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise InputError("subject/command", f"cannot read the command {show(command)}: {error}") from None
        if not self._words:
            raise InputError("subject/command", "an empty command: expected \"cmd: program arguments\"")
        self._timeout_s = timeout_s
        self._child = None
        self._n = 0

    @property
    def running(self):
        """Whether a child was started and not stopped since."""
        return self._child is not None

    @property
    def pid(self):
        """The process id of the child, None while there is none."""
        return self._child.pid if self._child is not None else None

    def start(self):
        """Starts the child in a process group of its own; raises Trouble subject/cannot_start."""
        try:
            self._child = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, bufsize=0, start_new_session=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Trouble("subject/cannot_start", f"cannot start {show(self._words[0])}: {reason}") from None
        self._buffer, self._stderr = bytearray(), b""
        self._selector = selectors.DefaultSelector()
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(self._child.stdout, selectors.EVENT_READ)
        self._selector.register(self._child.stderr, selectors.EVENT_READ)

    def talk(self, messages):
        """Sends the messages, numbered, and gives their answers in order.

        Messages are sent without waiting for the answers between them. Raises Trouble with the answers that
        came before; the child is then stopped, and `start` begins anew."""
        answers, first = [], self._n + 1
        lines = []
        for message in messages:
            self._n += 1
            lines.append(_line({"n": self._n, **message}))
        self._out = memoryview(("\n".join(lines) + "\n").encode("utf-8"))
        try:
            self._selector.register(self._child.stdin, selectors.EVENT_WRITE)
            self._exchange(answers, first, len(lines))
        except Trouble as trouble:
            exit_code = self.stop()
            message = trouble.message
            if trouble.code == "subject/ended":
                message = f"the subject ended (exit code {exit_code}) before it answered n={first + len(answers)}"
            raise Trouble(trouble.code, message, self.stderr_text(), answers) from None
        return answers

    def _exchange(self, answers, first, wanted):
        deadline = time.monotonic() + self._timeout_s
        while True:
            if self._take(answers, first, wanted):
                deadline = time.monotonic() + self._timeout_s
            if len(answers) == wanted:
                if self._buffer:
                    raise Trouble("subject/unasked", f"output that nobody asked for: {_quote(self._buffer)}")
                return
            if len(self._buffer) > MAX_ANSWER_BYTES:
                raise Trouble("subject/too_large", f"more than {MAX_ANSWER_BYTES} bytes without an end of line")
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise Trouble("subject/timeout", f"no answer to n={first + len(answers)} within {self._timeout_s:g} s")
            self._pump(remaining)

    def _pump(self, seconds):
        for key, _ in self._selector.select(seconds):
            pipe = key.fileobj
            if pipe is self._child.stdin:
                self._write()
                continue
            try:
                block = os.read(key.fd, 1 << 16)
            except BlockingIOError:
                continue
            if pipe is self._child.stdout:
                if not block:
                    raise Trouble("subject/ended", "the subject ended")
                self._buffer += block
            elif block:
                self._stderr = (self._stderr + block)[-_STDERR_TAIL:]
            else:
                self._selector.unregister(pipe)

    def _write(self):
        try:
            self._out = self._out[os.write(self._child.stdin.fileno(), self._out[:1 << 16]):]
        except BlockingIOError:
            return
        except OSError:
            self._out = self._out[:0]  # it no longer listens; what it says, or its end, tells the rest
        if not self._out:
            self._selector.unregister(self._child.stdin)

    def _take(self, answers, first, wanted):
        """Moves the complete lines of the buffer into `answers`; whether there were any."""
        end = self._buffer.rfind(b"\n")
        if end < 0:
            return False
        lines = bytes(self._buffer[:end]).split(b"\n")
        del self._buffer[:end + 1]
        for line in lines:
            if len(answers) == wanted:
                raise Trouble("subject/unasked", f"output that nobody asked for: {_quote(line)}")
            answers.append(_answer(line, first + len(answers)))
        return True

    def stop(self, polite=None):
        """Ends the child and all it started; `polite` is a last message after which it may end by itself.

        Returns the exit code (negative: the signal), None when nothing ran."""
        child, self._child = self._child, None
        if child is None:
            return None
        if polite is not None:
            self._wave(child, polite)
        else:
            self._drain(child, 0.2 if self._at_end(child) else 0)
        try:
            os.killpg(child.pid, signal.SIGKILL)  # before it is waited for: its id cannot be another's yet
        except (ProcessLookupError, PermissionError):
            pass
        code = child.wait()
        self._drain(child, 0)
        self._selector.close()
        for pipe in (child.stdin, child.stdout, child.stderr):
            pipe.close()
        return code

    def _at_end(self, child):
        """Whether the child has closed its output: it is ending by itself, and its exit code is of interest."""
        try:
            return os.read(child.stdout.fileno(), 1) == b""
        except OSError:
            return False

    def _wave(self, child, message):
        self._n += 1
        try:
            os.write(child.stdin.fileno(), (_line({"n": self._n, **message}) + "\n").encode("utf-8"))
            child.stdin.close()
        except OSError:
            return
        self._await_end(child, _BYE_SECONDS)

    def _await_end(self, child, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return
            time.sleep(0.002)

    def _drain(self, child, seconds):
        if seconds:
            self._await_end(child, seconds)
        try:
            while block := os.read(child.stderr.fileno(), 1 << 16):
                self._stderr = (self._stderr + block)[-_STDERR_TAIL:]
                if seconds == 0 and len(block) < 1 << 16:
                    return
        except OSError:
            return

    def stderr_text(self):
        """The end of what the child wrote to stderr, control characters escaped."""
        text = self._stderr.decode("utf-8", "replace").strip()
        return "\n".join(one_line(line[:300]) for line in text.split("\n")[-12:])


def _line(message):
    # Not the canonical form: that would turn 1.0 into 1, and a case may be about the difference.
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def _quote(data):
    return show(bytes(data[:80]).decode("utf-8", "replace"))


def _answer(line, n):
    try:
        answer = parse(line, max_bytes=MAX_ANSWER_BYTES)
    except JsonError as error:
        if error.code == "json/encoding":
            raise Trouble("subject/encoding", f"the answer to n={n} is not UTF-8") from None
        if error.code == "json/too_large":
            raise Trouble("subject/too_large", f"the answer to n={n} has more than {MAX_ANSWER_BYTES} bytes") from None
        raise Trouble("subject/garbage", f"the answer to n={n} is not JSON ({error.code}): {_quote(line)}") from None
    if answer.__class__ is not dict:
        raise Trouble("subject/garbage", f"the answer to n={n} is not a JSON object: {_quote(line)}")
    if answer.get("n") != n or answer.get("n").__class__ is not int:
        raise Trouble("subject/wrong_n", f"expected the answer to n={n}, got n={show(answer.get('n'))}")
    return answer
