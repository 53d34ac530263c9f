"""What importing a session log costs beside json.loads of its lines, and what memory it takes.

    python tests/benchmarks/bench_import.py [--rounds 5] [--lines 100000] [--only speed,memory]

Generates its logs in a temporary folder, measures everything in this one run and exits with 1 if a limit is
exceeded. Both programs are measured in CPU time, by the minima of interleaved rounds, because a shared machine
is never quiet. The import is the whole command: both passes, the trace written, every event judged. pytest does
not collect this file.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from realtime_session.cli import main as command  # noqa: E402

RATIO_LIMIT = 6.0  # times json.loads of the same lines
BYTES_A_LINE_LIMIT = 500  # ids of rows, responses and turns: two short strings and a table entry a row
SMALL = 25_000
#: shape -> base64 characters of one piece of audio (200 ms of G.711; a piece cut by the logger), wrapped or bare
SHAPES = {"long rows": (2136, False), "short rows": (16, False), "short rows, wrapped with times": (16, True)}


class Log:
    """Rows of one ordinary OpenAI GA session: spoken turns, replies with transcript and audio, now and then a
    tool or a barge-in."""

    def __init__(self, audio, wrapped):
        self.audio, self.wrapped = "A" * audio, wrapped
        self.rows = self.turns = self.at = 0

    def row(self, type_, sent=False, **fields):
        """One line; received rows have ids, as the real ones do."""
        self.rows += 1
        self.at += 20
        data = {"type": type_, **fields} if sent else {"type": type_, "event_id": f"event_{self.rows:020d}", **fields}
        if self.wrapped:
            data = {"i": self.rows, "direction": "sent" if sent else "received", "at": self.at / 1000, "data": data}
        return json.dumps(data, separators=(",", ":")) + "\n"

    def head(self):
        session = {"id": "sess_1", "object": "realtime.session", "type": "realtime", "tools": [
            {"type": "function", "name": "find_slot", "parameters": {"type": "object"}}],
            "audio": {"input": {"format": {"type": "audio/pcmu"}}, "output": {"format": {"type": "audio/pcmu"}}}}
        yield self.row("session.created", session=session)

    def turn(self):
        self.turns += 1
        item, reply, start = f"item_u{self.turns:016d}", f"resp_{self.turns:016d}", self.at
        yield self.row("input_audio_buffer.speech_started", audio_start_ms=start, item_id=item)
        for _ in range(12):
            yield self.row("input_audio_buffer.append", sent=True, audio=self.audio)
        yield self.row("input_audio_buffer.speech_stopped", audio_end_ms=start + 240, item_id=item)
        yield self.row("input_audio_buffer.committed", previous_item_id=None, item_id=item)
        wire = {"object": "realtime.response", "id": reply, "status": "in_progress", "status_details": None, "output": [],
                "conversation_id": "conv_1", "usage": None, "metadata": None}
        yield self.row("response.created", response=wire)
        yield from self.tool(reply) if self.turns % 5 == 0 else self.speech(reply, item)
        yield self.row("response.done", response={**wire, "status": "completed"})

    def tool(self, reply):
        item, call = f"item_t{self.turns:016d}", f"call_{self.turns:016d}"
        made = {"id": item, "object": "realtime.item", "type": "function_call", "status": "completed", "name": "find_slot",
                "call_id": call, "arguments": '{"day":"monday"}'}
        where = {"response_id": reply, "item_id": item, "output_index": 0}
        yield self.row("response.output_item.added", response_id=reply, output_index=0,
                       item={**made, "status": "in_progress", "arguments": ""})
        yield self.row("response.function_call_arguments.delta", **where, call_id=call, delta='{"day":"monday"}')
        yield self.row("response.function_call_arguments.done", **where, call_id=call, arguments='{"day":"monday"}')
        yield self.row("response.output_item.done", response_id=reply, output_index=0, item=made)
        yield self.row("conversation.item.create", sent=True,
                       item={"type": "function_call_output", "call_id": call, "output": '{"free":["nine","ten"]}'})

    def speech(self, reply, user_item):
        item = f"item_a{self.turns:016d}"
        where = {"response_id": reply, "item_id": item, "output_index": 0, "content_index": 0}
        wire = {"id": item, "object": "realtime.item", "type": "message", "status": "in_progress", "role": "assistant",
                "content": []}
        yield self.row("response.output_item.added", response_id=reply, output_index=0, item=wire)
        yield self.row("response.content_part.added", **where, part={"type": "audio", "transcript": ""})
        for number in range(16):
            yield self.row("response.output_audio_transcript.delta", **where, delta=" and the next",
                           obfuscation="k2Jd9sPq")
            yield self.row("response.output_audio.delta", **where, delta=self.audio)
            if number == 8:
                yield self.row("conversation.item.input_audio_transcription.completed", item_id=user_item,
                               content_index=0, transcript="Which one is free?")
        yield self.row("response.output_audio.done", **where)
        yield self.row("response.output_item.done", response_id=reply, output_index=0, item={**wire, "status": "completed"})

    def lines(self, count):
        """`count` rows or up to one turn more."""
        yield from self.head()
        while self.rows < count:
            yield from self.turn()


def write_log(folder, shape, count):
    """The path of a generated log and its number of rows."""
    path = folder / f"{shape.replace(' ', '-').replace(',', '')}-{count}.jsonl"
    log = Log(*SHAPES[shape])
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(log.lines(count))
    return path, log.rows


def parse_lines(path):
    """The yardstick: what everybody would write to read the file at all."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            json.loads(line)


def run_import(path):
    """The whole command; a log that breaks rules would measure something else."""
    trace, said = path.with_suffix(".trace"), io.StringIO()
    with contextlib.redirect_stdout(said):
        code = command(["import", "openai", str(path), "-o", str(trace), "--format", "json"])
    summary = json.loads(said.getvalue())
    if code or summary["rejected"] or summary["findings_by_rule"] or summary["unmapped"]:
        raise SystemExit(f"{path.name}: {summary}")
    trace.unlink()


def interleaved(rounds, *jobs):
    """The least CPU seconds of each job over interleaved rounds."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for index, job in enumerate(jobs):
            before = time.process_time()
            job()
            best[index] = min(best[index], time.process_time() - before)
    return best


def report(what, figure, limit, detail, digits=2):
    """Prints one figure beside its limit; True when it exceeds it."""
    over = figure > limit
    print(f"{what:<66} {figure:>8.{digits}f} {limit:>6g} {'EXCEEDED ' if over else ''}{detail}", flush=True)
    return over


def measure_speed(folder, options):
    """The import against json.loads of every line."""
    failed = False
    for shape in SHAPES:
        path, n = write_log(folder, shape, options.lines)
        size = path.stat().st_size // n
        parse, whole = interleaved(options.rounds, lambda: parse_lines(path), lambda: run_import(path))
        failed |= report(f"import, {shape} / json.loads", whole / parse, RATIO_LIMIT,
                         f"({parse / n * 1e6:.2f} -> {whole / n * 1e6:.2f} us a row of {size} bytes)")
        path.unlink()
    return failed


_PEAK = """import os, resource, sys
sys.path.insert(0, sys.argv[1])
from realtime_session.cli import main
code = main(["import", "openai", sys.argv[2], "-o", os.devnull, "--format", "json"])
unit = 1 if sys.platform == "darwin" else 1024
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
sys.exit(code)
"""


def measure_memory(folder, options):
    """Growth of the peak resident size of a process that imports: the ids, and nothing of the rows' size."""
    failed = False
    for shape in SHAPES:
        peaks = []
        for count in (SMALL, options.lines):
            path, n = write_log(folder, shape, count)
            out = subprocess.run([sys.executable, "-c", _PEAK, str(ROOT), str(path)], check=True, capture_output=True,
                                 text=True, encoding="utf-8").stdout
            peaks.append((n, int(out.split()[-1])))
            path.unlink()
        (few, low), (many, high) = peaks
        failed |= report(f"bytes a row, {shape}, peak from {SMALL:,} to {options.lines:,}",
                         (high - low) / (many - few), BYTES_A_LINE_LIMIT,
                         f"({low / 2**20:.0f} -> {high / 2**20:.0f} MiB)", digits=0)
    return failed


PARTS = {"memory": measure_memory, "speed": measure_speed}


def main():
    """Measures the chosen parts; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description="figures of import beside their limits")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--only", default=",".join(PARTS), help="parts to measure, with commas: " + ", ".join(PARTS))
    options = parser.parse_args()
    print(f"CPython {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores\n")
    print(f"{'what':<66} {'figure':>8} {'limit':>6}")
    failed = False
    with tempfile.TemporaryDirectory() as name:
        for part, measure in PARTS.items():
            if part in options.only.split(","):
                failed |= measure(pathlib.Path(name), options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
