"""How fast replay is, how much memory it takes, how fast the command starts: figures beside their limits.

    python tests/benchmarks/bench_replay.py [--rounds 7] [--events 200000] [--only speed,scale,memory,start]

Generates its traces in a temporary folder, measures everything in this one run and exits with 1 if a limit is
exceeded. Two programs are compared by the minima of interleaved rounds, because a shared machine is never
quiet. Inside this process CPU time is measured, for the same reason. pytest does not collect this file.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from realtime_session.traces.replay import Replay  # noqa: E402

HALF, FULL = "half_duplex", "full_duplex"
SHAPES = ("mixed", "short turns")
SMALL, LARGE = 50_000, 400_000

# figure -> what it may be at most (None: reported only)
LIMITS = {"replay": 2.0, "replay with audit": 2.5, "document with audit": None, "scale": 1.2, "bytes an event": 200,
          "start of replay": 2.0, "start of --help": 1.6}

_TEXTS = ("Could you move my appointment from Monday to Thursday afternoon, please, at any time after three will do for me",
          "The earliest free slot on that day is at half past nine in the morning, and there is another one just before noon",
          "That works for me, and please send a confirmation by mail to the address that you have, since I changed my phone",
          "I have changed it and sent the confirmation to your address; is there anything else that you would like to know")


# --- traces ---

class Writer:
    """Events of one legal session, as lines; time moves on by a few ms with each."""

    def __init__(self, profile):
        self.full = profile == FULL
        self.count = self.now = self.turns = 0
        self.header = {"session": {"session_id": "benchmark", "resume_token": "token-0", "profile": profile}}

    def event(self, type_, after_ms=20, **payload):
        """One more event, `after_ms` behind the last."""
        self.count += 1
        self.now += after_ms
        return {"event_id": f"event-{self.count:08d}", "type": type_, "at_ms": self.now, "payload": payload}

    def short_turn(self):
        """A turn of four events."""
        self.turns += 1
        turn, response = f"turn-{self.turns:07d}", f"resp-{self.turns:07d}"
        yield self.event("audio.frame", turn_id=turn, sequence=0, duration_ms=20, speech=True)
        yield self.event("turn.commit", turn_id=turn)
        yield self.event("response.started", 400, response_id=response, turn_id=turn)
        yield self.event("response.completed", 900, response_id=response)

    def mixed_turn(self):
        """A turn of about 40 events, with a tool every third time, an interrupt every fifth, a lost link rarely."""
        self.turns += 1
        number, full = self.turns, self.full
        turn, response = f"turn-{number:07d}", f"resp-{number:07d}"
        if full:
            yield self.event("speech.started", turn_id=turn, audio_ms=self.now)
        for sequence in range(12):
            yield self.event("audio.frame", turn_id=turn, sequence=sequence, duration_ms=20, speech=sequence > 2)
        if full:
            yield self.event("speech.stopped", turn_id=turn, audio_ms=self.now)
        yield self.event("turn.commit", 200, turn_id=turn, cause="speech")
        text = _TEXTS[number % 4] + (", say 10:30" if number % 2 else "")
        yield self.event("turn.transcript", turn_id=turn, text=text, final=True)
        yield self.event("response.started", 300, response_id=response, turn_id=turn)
        if number % 50 == 0:
            response += "b"
            yield from self.lost_link(turn, response)
        if number % 3 == 0:
            yield from self.tool(response, number)
        yield from self.output(response, stopped_after=4 if number % 5 == 0 else None)
        if number % 5:
            yield self.event("response.completed", response_id=response)
            if full:
                yield self.event("playback.stopped", 900, response_id=response, played_ms=1000)
        else:
            yield from self.interrupt(response)

    def lost_link(self, turn, response):
        token = f"token of {turn}"
        yield self.event("transport.disconnected", reason="network_lost", resume_token=token)
        yield self.event("transport.resumed", 1500, resume_token=token)
        yield self.event("response.started", response_id=response, turn_id=turn)

    def tool(self, response, number):
        call = f"call-{number:07d}"
        yield self.event("tool.call", call_id=call, response_id=response, name="find_slot", read_only=number % 2 == 0,
                         arguments={"day": f"2026-01-{number % 28 + 1:02d}", "guests": number, "notes": ["window", "quiet"]})
        yield self.event("tool.result", 250, call_id=call, response_id=response, ok=True,
                         result={"slots": [{"at": "nine", "free": True}, {"at": "ten", "free": False}], "total": 2})

    def output(self, response, stopped_after):
        for sequence in range(stopped_after or 10):
            yield self.event("response.audio", 90, response_id=response, sequence=sequence, duration_ms=100)
            if sequence % 2 == 0:
                yield self.event("response.text", 5, response_id=response, sequence=sequence // 2, text=_TEXTS[sequence % 4])
            if self.full and sequence == 0:
                yield self.event("playback.started", 5, response_id=response)
            elif self.full and sequence % 2:
                yield self.event("playback.progress", 5, response_id=response, played_ms=90 * sequence)

    def interrupt(self, response):
        turn = f"turn-{self.turns:07d}i"
        yield self.event("user.interrupt", turn_id=turn, response_id=response, reason="caller_spoke")
        if self.full:
            yield self.event("playback.cleared", 60, response_id=response, played_ms=300)
            yield self.event("response.cancelled", response_id=response, reason="interrupted")
        yield self.event("audio.frame", turn_id=turn, sequence=0, duration_ms=20, speech=True)
        yield self.event("turn.commit", 200, turn_id=turn)
        yield self.event("response.started", 300, response_id=f"resp-{self.turns:07d}i", turn_id=turn)
        yield self.event("response.completed", 300, response_id=f"resp-{self.turns:07d}i")

    def events(self, shape, count):
        """`count` events or up to one turn more, the last of them the end of the session."""
        turn = self.mixed_turn if shape == "mixed" else self.short_turn
        while self.count < count - 1:
            yield from turn()
        yield self.event("session.completed", reason="caller_satisfied")


def write_trace(folder, shape, profile, count, document=False):
    """The path of a generated trace and its number of events."""
    path = folder / f"{shape[:5]}-{profile}-{count}.json{'' if document else 'l'}"
    writer = Writer(profile)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        head = json.dumps(writer.header)
        file.write(head[:-1] + ', "events": [\n' if document else head + "\n")
        for event in writer.events(shape, count):
            if document and writer.count > 1:
                file.write(",\n")
            file.write(json.dumps(event) + ("" if document else "\n"))
        if document:
            file.write("\n]}\n")
    return path, writer.count


# --- measuring ---

def parse_lines(path):
    """The yardstick: what everybody would write to read the file at all."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            json.loads(line)


def parse_document(path):
    """The yardstick for a document."""
    with open(path, encoding="utf-8") as file:
        json.load(file)


def replay(path, audit):
    """A whole replay; a trace that is not accepted to its end would measure something else."""
    with open(path, "rb") as file:
        run = Replay(file, audit=audit).run()
    if run.rejected or run.findings or not run.finished:
        raise SystemExit(f"{path.name}: {run.violations} {run.findings}")


def interleaved(rounds, *jobs):
    """The least CPU seconds of each job over interleaved rounds."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for index, job in enumerate(jobs):
            before = time.process_time()
            job()
            best[index] = min(best[index], time.process_time() - before)
    return best


class Table:
    """Figures as they come, each beside its limit."""

    def __init__(self):
        self.failed = False
        print(f"CPython {platform.python_version()}, {platform.system()} {platform.machine()}, "
              f"{os.cpu_count()} cores\n\n{'what':<66} {'figure':>8} {'limit':>6}")

    def row(self, name, subject, figure, detail="", digits=2):
        limit = LIMITS[name]
        over = limit is not None and figure > limit
        self.failed |= over
        shown = "-" if limit is None else f"{limit:g}"
        print(f"{name + ', ' + subject:<66} {figure:>8.{digits}f} {shown:>6} {'EXCEEDED ' if over else ''}{detail}", flush=True)


def measure_speed(table, folder, options):
    """Replay against json.loads of every line of the same file."""
    for shape in SHAPES:
        for profile in (HALF, FULL):
            path, n = write_trace(folder, shape, profile, options.events)
            size = path.stat().st_size // n
            parse, plain, audited = interleaved(
                options.rounds, lambda: parse_lines(path), lambda: replay(path, False), lambda: replay(path, True))
            subject = f"{shape}, {profile} / json.loads"
            us = f"({parse / n * 1e6:.2f} -> {{:.2f}} us an event of {size} bytes)"
            table.row("replay", subject, plain / parse, us.format(plain / n * 1e6))
            table.row("replay with audit", subject, audited / parse, us.format(audited / n * 1e6))
            path.unlink()
    path, n = write_trace(folder, "mixed", FULL, options.events, document=True)
    parse, audited = interleaved(options.rounds, lambda: parse_document(path), lambda: replay(path, True))
    table.row("document with audit", f"mixed, {FULL} / json.load", audited / parse,
              f"({parse / n * 1e6:.2f} -> {audited / n * 1e6:.2f} us an event)")
    path.unlink()


def measure_scale(table, folder, options):
    """Time per event in a long trace against that in a short one."""
    for shape in SHAPES:
        (small, few), (large, many) = (write_trace(folder, shape, FULL, n) for n in (SMALL, LARGE))
        short, long = interleaved(options.rounds, lambda: replay(small, True), lambda: replay(large, True))
        table.row("scale", f"{shape}, {LARGE:,} / {SMALL:,} events, time per event", long / many / (short / few))
        small.unlink()
        large.unlink()


_PEAK = """import resource, sys
sys.path.insert(0, sys.argv[1])
from realtime_session.traces.replay import Replay
with open(sys.argv[2], "rb") as file:
    run = Replay(file).run()
if run.rejected or run.findings or not run.finished:
    sys.exit(f"{run.violations} {run.findings}")
unit = 1 if sys.platform == "darwin" else 1024
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""


def measure_memory(table, folder, options):
    """Growth of the peak resident size of a process that replays with audit.

    Runs first: a child's peak begins with what its parent held when it was started."""
    for shape in SHAPES:
        for profile in (HALF, FULL):
            peaks = []
            for count in (SMALL, LARGE):
                path, n = write_trace(folder, shape, profile, count)
                out = subprocess.run([sys.executable, "-c", _PEAK, str(ROOT), str(path)], check=True,
                                     capture_output=True, text=True, encoding="utf-8").stdout
                peaks.append((n, int(out)))
                path.unlink()
            (few, low), (many, high) = peaks
            table.row("bytes an event", f"{shape}, {profile}, peak from {SMALL:,} to {LARGE:,}",
                      (high - low) / (many - few), f"({low / 2**20:.0f} -> {high / 2**20:.0f} MiB)", digits=0)


def measure_start(table, folder, options):
    """Start-up from an installed copy in an environment without anything else, bytecode cached."""
    home = folder / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    python = str(home / "bin" / "python")
    site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True,
                          capture_output=True, text=True, encoding="utf-8").stdout.strip()
    shutil.copytree(ROOT / "realtime_session", pathlib.Path(site) / "realtime_session",
                    ignore=shutil.ignore_patterns("__pycache__"))
    example = shutil.copy(ROOT / "examples" / "session_fixture.json", folder)
    commands = ([python, "-c", "import json, argparse"], [python, "-m", "realtime_session", "replay", example],
                [python, "-m", "realtime_session", "--help"])
    best = [float("inf")] * 3
    for turn in range(3 * options.rounds + 1):
        for index, command in enumerate(commands):
            before = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={"PATH": os.defpath}, cwd=folder)
            if turn:  # the first writes the bytecode
                best[index] = min(best[index], time.perf_counter() - before)
    for name, seconds in (("start of replay", best[1]), ("start of --help", best[2])):
        table.row(name, "/ python -c 'import json, argparse'", seconds / best[0],
                  f"({best[0] * 1e3:.1f} -> {seconds * 1e3:.1f} ms)")


PARTS = {"memory": measure_memory, "start": measure_start, "speed": measure_speed, "scale": measure_scale}


def main():
    """Measures the chosen parts; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description="figures of replay beside their limits")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--only", default=",".join(PARTS), help="parts to measure, with commas: " + ", ".join(PARTS))
    options = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        for part, measure in PARTS.items():
            if part in options.only.split(","):
                measure(table, pathlib.Path(name), options)
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
