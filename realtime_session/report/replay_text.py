"""A replay as a person reads it: verdict first, then turn by turn, the failing event among its neighbours."""
from __future__ import annotations

from realtime_session.values.errors import one_line, show

#: Event types of which long runs are folded into one line.
_RUNS = ("audio.frame", "response.audio", "response.text", "playback.progress")


def verdict_lines(replay, file, strict=False):
    """The verdict, its counts, and the first violations or findings with their places."""
    code = replay.exit_code(strict)
    word = {0: "PASS", 1: "FAIL", 3: "UNFINISHED"}[code]
    name = one_line(file)
    lines = [f"{word}  {name}  ({replay.session.profile}, {_plural(replay.events, 'event')}: {replay.accepted} "
             f"accepted, {replay.ignored} ignored, {replay.rejected} rejected)"]
    for index, line, violation in replay.violations[:20]:
        lines += _fault_lines(violation, f"{name}:{line}", index)
    if replay.rejected > 20:
        lines.append("  rejected by rule: " + ", ".join(
            f"{rule} {n}" for rule, n in sorted(replay.rejected_by_rule.items())))
    for finding in replay.findings[:20]:
        where = f"event {show(finding.event_id)}" if finding.event_id else "end of trace"
        lines.append(f"  finding {finding.rule} [{finding.layer}] at {where}: {finding.message}")
    if len(replay.findings) > 20:
        lines.append("  findings by rule: " + ", ".join(
            f"{rule} {n}" for rule, n in sorted(replay.flagged_by_rule.items())))
    if code == 3 and replay.stopped:
        lines.append(f"  stopped after {_plural(replay.events, 'event')}, as asked")
    elif code == 3:
        lines.append("  the trace ends without a terminal event (session.completed, .timeout or .transferred)")
    return lines


def _plural(number, noun):
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _fault_lines(v, place, index):
    return [f"  {place}  event {index} {show(v.event_id)} {show(v.type)} breaks {v.rule} [{v.layer}] in phase {v.phase}",
            f"    rule      {v.message.split(': expected ')[0]}",
            f"    at        {v.path or '(the event)'}",
            f"    expected  {v.expected}",
            f"    got       {v.actual}"]


class StepWriter:
    """Turns steps into lines. Runs of frames and output pieces are folded; a heading begins each turn."""

    def __init__(self, fold=True):
        self._fold, self._run, self._heading = fold, [], None

    def lines(self, step):
        """The lines that this step completes."""
        out = []
        event = step.event
        type_ = event.get("type") if event.__class__ is dict else None
        plain = step.decision.kind == "accepted" and not step.decision.effects and not step.decision.findings \
            and step.phase_before == step.phase_after
        heading = self._turn_heading(event, type_)
        folds = self._fold and plain and type_ in _RUNS
        if heading or not folds or self._run and self._run[0].event["type"] != type_:
            out += self.flush() + heading
        if not folds:
            return out + step_lines(step)
        if len(self._run) < 2:
            self._run.append(step)
        else:
            self._count += 1
            self._run[1] = step
        return out

    _count = 0

    def flush(self):
        """The lines of the run still folded."""
        run, extra = self._run, self._count
        self._run, self._count = [], 0
        if not run:
            return []
        if len(run) == 1:
            return step_lines(run[0])
        if not extra:
            return step_lines(run[0]) + step_lines(run[1])
        first, last = run[0].event, run[1].event
        return [f"  {first['at_ms']:>8}  {'':9} {first['type']:<22} x {extra + 2}, {_brief(first)} … until "
                f"{last['at_ms']} ms"]

    def _turn_heading(self, event, type_):
        if type_ not in ("audio.frame", "speech.started", "user.interrupt", "input.text", "input.dtmf", "turn.commit"):
            return []
        turn = event["payload"].get("turn_id") if event.get("payload").__class__ is dict else None
        if turn is None or turn == self._heading or turn.__class__ is not str:
            return []
        self._heading = turn
        return [f"turn {show(turn)[1:-1]}"]


def step_lines(step):
    """One event: time, decision, type, what it carries; then phase change, effects, violation, findings."""
    event, decision = step.event, step.decision
    if event.__class__ is not dict:
        return [f"  {'':>8}  {'REJECTED':9} {show(event)}"]
    kind = {"accepted": "", "ignored": "ignored", "rejected": "REJECTED"}[decision.kind]
    at = event.get("at_ms")
    head = f"  {at if at.__class__ is int else '?':>8}  {kind:9} {_word(event.get('type')):<22} {_brief(event)}"
    if decision.reason:
        head += f"  [{decision.reason}]"
    lines = [head.rstrip()]
    if step.phase_after != step.phase_before:
        lines.append(f"{'':21} phase   {step.phase_before} -> {step.phase_after}")
    if decision.effects:
        lines.append(f"{'':21} effects {', '.join(_safe(str(effect)) for effect in decision.effects)}")
    if decision.violation is not None:
        v = decision.violation
        lines.append(f"{'':21} {v.rule}: expected {v.expected}, got {v.actual}")
    lines += [f"{'':21} finding {f.rule}: expected {f.expected}, got {f.actual}" for f in decision.findings]
    return lines


def unjudged_line(event):
    """An event that comes after the one at which the replay stopped."""
    if event.__class__ is not dict:
        return f"  {'':>8}  {'not seen':9} {show(event)}"
    at = event.get("at_ms")
    return f"  {at if at.__class__ is int else '?':>8}  {'not seen':9} {_word(event.get('type')):<22} {_brief(event)}".rstrip()


_HIDDEN = ("resume_token",)


def _brief(event):
    payload = event.get("payload")
    if payload.__class__ is not dict:
        return show(payload)
    parts = [f"{_safe(key)}={_word(value)}" for key, value in list(payload.items())[:8] if key not in _HIDDEN]
    return " ".join(parts)


def _word(value):
    text = show(value)
    bare = value.__class__ is str and value and text[1:-1] == value and not any(c.isspace() for c in value)
    return value if bare else text


def _safe(text):
    return show(text)[1:-1]


def conversation_lines(rows):
    """The conversation as it was heard: caller before agent in every turn, unheard words in brackets."""
    lines = ["conversation"]
    for row in rows:
        if row["turn_id"] is not None:
            said = show(row["caller"]) if row["caller"] is not None else "(no words recorded)"
            barge = f"  [interrupts {_word(row['interrupts'])}]" if row["interrupts"] else ""
            lines.append(f"  {row['at_ms']:>8}  caller  {_word(row['turn_id'])}: {said}{barge}")
        for response in row["responses"]:
            lines += _response_lines(response)
    return lines


def _response_lines(response):
    text, heard = response["text"], response["heard"]
    words = show(text) if heard is None or heard == text else f"{show(heard)} [of {show(text)}]"
    lines = [f"  {response['at_ms']:>8}  agent   {_word(response['response_id'])}: {words if text else '(no text)'}"
             f"  [{response['status']}]"]
    for call in response["calls"]:
        outcome = {True: "ok", False: "failed", None: "result"}[call["ok"]]
        end = "no result" if call["result_ms"] is None else f"{outcome} at {call['result_ms']}"
        lines.append(f"  {call['at_ms']:>8}  tool    {_word(call['call_id'])} {_word(call['name'])}: {end}")
    return lines


def measure_lines(measures):
    """The measures as a table; an absent one says why."""
    lines = ["measures"]
    for name, m in measures.items():
        value = f"- ({m['reason']})" if m["value"] is None else f"{m['value']} {m['unit']} (n {m['n']})" \
            if m["unit"] != "count" else str(m["value"])
        lines.append(f"  {name:<24} {value}")
    return lines


def state_lines(state, digest):
    """What state is left."""
    lines = ["state left", f"  phase       {state['phase']}", f"  digest      {digest}",
             f"  at          {state['now_ms']} ms"]
    lines.append(f"  turns       {len(state['turns'])}, awaiting an answer: {_ids(state['awaiting'])}")
    lines.append(f"  responses   {len(state['responses'])}, active: {_word(state['active']) if state['active'] else '-'}")
    lines.append(f"  calls       {len(state['calls'])}, open or in doubt: {_ids(state['open_calls'])}")
    return lines


def _ids(ids):
    return ", ".join(_word(i) for i in ids[:8]) + (" …" if len(ids) > 8 else "") if ids else "-"
