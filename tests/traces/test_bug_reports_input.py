"""Public fault reports about what a reader is fed: broken JSON, hostile sizes, encodings, lines."""

import json
import pathlib
import subprocess
import sys

import pytest

from realtime_session.cli import main
from realtime_session.contract.session import Session
from realtime_session.values import strict_json

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = {"session": {"session_id": "s1", "resume_token": "token-1"}}
BOM = b"\xef\xbb\xbf"


def event(event_id, type_, at_ms, **payload):
    return {"event_id": event_id, "type": type_, "at_ms": at_ms, "payload": payload}


EVENTS = [
    event("e1", "audio.frame", 0, turn_id="t1", sequence=0, duration_ms=20, speech=True),
    event("e2", "turn.commit", 100, turn_id="t1"),
    event("e3", "response.started", 200, response_id="r1", turn_id="t1"),
    event("e4", "tool.call", 300, call_id="c1", response_id="r1", name="find_slot", arguments={"guests": 2},
          read_only=True),
    event("e5", "tool.result", 400, call_id="c1", response_id="r1", ok=True, result=["19:00"]),
    event("e6", "turn.transcript", 450, turn_id="t1", text="A table for two", final=True),
    event("e7", "response.completed", 500, response_id="r1"),
    event("e8", "session.completed", 600, reason="done"),
]
LINES = [json.dumps(value) for value in (HEADER, *EVENTS)]  # e1 is on line 2


def as_document(lines):
    """The same trace as one JSON document, every event on its own line: e1 on line 2 as well."""
    return lines[0][:-1] + ', "events": [\n' + ",\n".join(lines[1:]) + "\n]}\n"


def as_lines(lines):
    return "\n".join(lines) + "\n"


ENCODINGS = pytest.mark.parametrize("encode", [as_lines, as_document])


@pytest.fixture
def replay(tmp_path, capsys):
    """Replays bytes or text through the command line: (exit code, report)."""
    def run(data, *options):
        path = tmp_path / "trace.json"
        path.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
        code = main(["replay", str(path), "--format", "json", *options])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        if code == 2:
            assert len(err.strip().splitlines()) == 1, "one clear line"
        else:
            assert err == ""
        return code, json.loads(out)
    return run


def refused(replay, data):
    """The error of an unreadable file."""
    code, report = replay(data)
    assert code == 2
    return report["error"]


def with_event(n, text):
    """LINES with the text of the n-th event (from 1) replaced."""
    return [*LINES[:n], text, *LINES[n + 1:]]


@ENCODINGS
def test_the_trace_of_these_tests_passes(replay, encode):
    code, report = replay(encode(LINES))
    assert (code, report["accepted"], report["findings"]) == (0, 8, [])


# --- BR-022: one bad event poisons the stream ---


def test_an_unknown_type_is_named_with_its_line(replay):
    """BR-022: strict replay stops at line 4 and says so."""
    vendor = json.dumps(event("v1", "vendor.new_thing", 150, detail=1))
    code, report = replay(as_lines([*LINES[:3], vendor, *LINES[3:]]))
    assert code == 1
    assert [(v["index"], v["line"], v["rule"], v["event_id"]) for v in report["violations"]] == [
        (2, 4, "event/unknown_type", "v1")]


@ENCODINGS
def test_an_unknown_type_or_field_is_skipped_when_asked_to_keep_going(replay, encode):
    """BR-022: the rest of the stream is read, and nothing is skipped silently."""
    vendor = json.dumps(event("v1", "vendor.new_thing", 150, detail=1))
    extra = json.dumps(event("v2", "turn.transcript", 150, turn_id="t1", text="x", final=True, lang="en"))
    code, report = replay(encode([*LINES[:3], vendor, extra, *LINES[3:]]), "--keep-going")
    assert code == 1
    assert (report["accepted"], report["rejected"]) == (8, 2)
    assert [(v["line"], v["rule"]) for v in report["violations"]] == [
        (4, "event/unknown_type"), (5, "event/unknown_field")]


# --- BR-031: no bounds, or bounds that crash ---


def test_a_line_of_fifty_megabytes_is_too_large(replay):
    """BR-031."""
    data = as_lines(LINES[:2]).encode() + b'{"event_id": "' + b"x" * (50 << 20)
    error = refused(replay, data)
    assert (error["code"], error["line"]) == ("json/too_large", 3)


@ENCODINGS
def test_an_event_just_beyond_one_mebibyte_is_too_large(replay, encode):
    """BR-031: the limit is documented, and an event below it is read."""
    def said(length):
        return json.dumps(event("e6", "turn.transcript", 450, turn_id="t1", text="x" * length, final=True))
    spare = (1 << 20) - len(said(0))
    assert replay(encode(with_event(6, said(spare))))[0] == 0
    error = refused(replay, encode(with_event(6, said(spare + 1))))
    assert (error["code"], error["line"]) == ("json/too_large", 7)


def test_a_long_trace_is_counted_whole(replay):
    """BR-031: many frames, one report of the usual size."""
    frames = [event(f"f{n}", "audio.frame", n, turn_id="t9", sequence=n, duration_ms=1, speech=True)
              for n in range(5000)]
    code, report = replay(as_lines([LINES[0], *map(json.dumps, frames)]))
    assert (code, report["accepted"]) == (3, 5000)
    assert len(json.dumps(report)) < 20_000


# --- BR-053: duplicate JSON keys ---

DUPLICATES = {
    "envelope": LINES[1].replace('"event_id": "e1"', '"event_id": "e0", "event_id": "e1"'),
    "escaped": LINES[1].replace('"event_id": "e1"', '"event_\\u0069d": "e0", "event_id": "e1"'),
    "payload": LINES[1].replace('"sequence": 0', '"sequence": 7, "sequence": 0'),
    "same value": LINES[1].replace('"sequence": 0', '"sequence": 0, "sequence": 0'),
}


@ENCODINGS
@pytest.mark.parametrize("text", DUPLICATES.values(), ids=DUPLICATES)
def test_a_duplicate_key_is_refused_with_its_line(replay, encode, text):
    """BR-053."""
    error = refused(replay, encode(with_event(1, text)))
    assert (error["code"], error["line"]) == ("json/duplicate_key", 2)
    assert ("event_id" if "e0" in text else "sequence") in error["message"] + error["path"]


@ENCODINGS
@pytest.mark.parametrize("arguments", ['{"a": 2, "a": 9}', '{"a": [{"b": {"c": 1, "\\u0063": 1}}]}'])
def test_a_duplicate_key_inside_tool_arguments_is_refused(replay, encode, arguments):
    """BR-053: at any depth."""
    error = refused(replay, encode(with_event(4, LINES[4].replace('{"guests": 2}', arguments))))
    assert (error["code"], error["line"]) == ("json/duplicate_key", 5)


@ENCODINGS
def test_a_duplicate_key_in_the_header_is_refused(replay, encode):
    """BR-053: limits or tokens are not forged by a second key."""
    header = LINES[0].replace('"session_id": "s1"', '"session_id": "s1", "session_id": "s2"')
    assert refused(replay, encode([header, *LINES[1:]]))["code"] == "json/duplicate_key"


def test_a_second_session_or_event_list_is_refused(replay):
    """BR-053: at the top of a document too."""
    for extra in (', "events": []}', ', "session": {}}'):
        document = as_document(LINES).rstrip()
        assert refused(replay, document[:-1] + extra)["code"] == "json/duplicate_key"


def test_colons_and_braces_in_texts_are_no_keys(replay):
    """BR-053: a reader that counts characters is not fooled either way."""
    odd = LINES[6].replace('"A table for two"', json.dumps('{"a": 1, "a": 2} \\" : ::'))
    assert replay(as_lines(with_event(6, odd)))[0] == 0


# --- BR-054: byte order mark, line ends, blank lines, line numbers ---


def outcome(replay, data):
    code, report = replay(data)
    return code, report["accepted"], report["state_digest"], report["measures"]


def test_line_ends_blank_lines_and_a_byte_order_mark_change_nothing(replay):
    """BR-054: one policy, the same result, never a skipped record."""
    plain = "\n".join(LINES)
    expected = outcome(replay, plain + "\n")
    assert expected[:2] == (0, 8)
    assert outcome(replay, plain) == expected, "no final newline"
    assert outcome(replay, BOM + plain.encode()) == expected
    assert outcome(replay, plain.replace("\n", "\r\n") + "\r\n") == expected
    assert outcome(replay, BOM + plain.replace("\n", "\r\n").encode()) == expected
    assert outcome(replay, plain.replace("\n", "\n\n \t\n") + "\n\n\n") == expected
    assert outcome(replay, plain.replace("\n", "\r\n\r\n") + "\r\n\r\n") == expected
    assert outcome(replay, BOM + as_document(LINES).encode()) == expected
    assert outcome(replay, as_document(LINES).replace("\n", "\r\n")) == expected


@pytest.mark.parametrize("data", [
    BOM + BOM + as_lines(LINES).encode(),
    BOM + BOM + as_document(LINES).encode(),
    as_lines(LINES[:3]).encode() + BOM + as_lines(LINES[3:]).encode(),
], ids=["two, lines", "two, document", "inside"])
def test_a_second_byte_order_mark_is_refused(replay, data):
    """BR-054: one at the start of the file is accepted, no other."""
    assert refused(replay, data)["code"] == "json/syntax"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_bad_json_is_named_by_its_physical_line(replay, end):
    """BR-054: blank lines count as lines."""
    lines = [LINES[0], "", LINES[1], LINES[2], "", LINES[3], '{"event_id": "e4", oops}', *LINES[5:]]
    error = refused(replay, end.join(lines) + end)
    assert (error["code"], error["line"], error["column"]) == ("json/syntax", 7, 20)


def test_bad_json_inside_a_document_is_named_by_its_line(replay):
    """BR-054."""
    error = refused(replay, as_document(with_event(6, '{"event_id": "e6", oops}')))
    assert (error["code"], error["line"]) == ("json/syntax", 7)


def test_a_violation_after_blank_lines_is_named_by_its_physical_line(replay):
    """BR-054."""
    code, report = replay("\n\n".join([LINES[0], LINES[2]]) + "\n")
    assert (code, report["violations"][0]["line"], report["violations"][0]["index"]) == (1, 3, 0)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\r"])
def test_only_line_feeds_end_a_line(replay, separator):
    """BR-054: other separators do not cut a text in two."""
    odd = LINES[6].replace("A table for two", "a b")
    if separator == "\r":  # legal white space between tokens, no line end
        text = as_lines(with_event(6, odd.replace(", ", ",\r ")))
    else:
        text = as_lines(with_event(6, odd.replace("a b", f"a{separator}b")))
    assert replay(text)[0] == 0


def test_a_torn_last_line_is_an_error_with_its_line(replay):
    """BR-054: a record that was cut is not dropped."""
    error = refused(replay, as_lines(LINES)[:-20])
    assert (error["code"], error["line"]) == ("json/syntax", 9)


# --- BR-055: deep nesting ---


def nested(depth, kind):
    return "[" * depth + "]" * depth if kind == "arrays" else '{"a":' * depth + "1" + "}" * depth


@ENCODINGS
@pytest.mark.parametrize("kind", ["arrays", "objects"])
@pytest.mark.parametrize("depth", [129, 500, 100_000])
def test_deep_arguments_are_refused(replay, encode, depth, kind):
    """BR-055: one code, on every version of the interpreter."""
    deep = LINES[4].replace('{"guests": 2}', '{"a": ' + nested(depth, kind) + "}")
    error = refused(replay, encode(with_event(4, deep)))
    assert (error["code"], error["line"]) == ("json/too_deep", 5)


@ENCODINGS
@pytest.mark.parametrize("kind", ["arrays", "objects"])
def test_arguments_of_ordinary_depth_are_read_hashed_and_compared(replay, encode, kind):
    """BR-055: the neighbours of a deep value still load."""
    fine = LINES[4].replace('{"guests": 2}', '{"a": ' + nested(100, kind) + "}")
    code, report = replay(encode([*with_event(4, fine)[:6], fine, *LINES[6:]]))
    assert (code, report["ignored"]) == (0, 1)


@pytest.mark.parametrize("text, code", [
    ("[" * 100_000, "trace/header"),  # refused at its first character, before any depth
    ('{"a":' * 100_000, "trace/header"),
    ('{"session": ' + "[" * 100_000, "json/too_deep"),
    ('{"session": ' + nested(100_000, "objects") + ', "events": []}', "json/too_deep"),
    (LINES[0] + "\n" + "[" * 100_000, "json/too_deep"),
    (as_document(LINES[:1])[:-4] + '{"a":' * 100_000, "json/too_deep"),
], ids=["arrays", "objects", "header", "closed header", "line", "event list"])
def test_a_file_of_brackets_is_refused(replay, text, code):
    """BR-055."""
    assert refused(replay, text)["code"] == code


def test_a_deep_value_through_the_api_is_refused_and_the_session_lives_on():
    """BR-055: the same limit without a file."""
    value = []
    for _ in range(100_000):
        value = [value]
    session = Session(HEADER["session"])
    for e in EVENTS[:3]:
        session.receive(e)
    before = session.state_digest()
    bad = {**EVENTS[3], "payload": {**EVENTS[3]["payload"], "arguments": {"a": value}}}
    assert session.receive(bad).violation.rule == "event/value"
    assert session.state_digest() == before
    assert session.receive(EVENTS[3]).kind == "accepted"
    with pytest.raises(strict_json.JsonError):
        strict_json.canonical(value)
    while value:  # taken apart by hand: freeing it in one go recurses in some interpreters
        value = value[0]


# --- BR-056: lone surrogates ---

LONE = {
    "in a text": (6, "A table for two", "hi \\ud83d there"),
    "a low half": (6, "A table for two", "\\udf78"),
    "halves in the wrong order": (6, "A table for two", "\\udf78\\ud83c"),
    "in an id": (6, '"e6"', '"e6\\ud83d"'),
    "in a key": (4, '"guests"', '"gu\\udf78ests"'),
    "in arguments": (4, '{"guests": 2}', '{"guests": ["\\ud83d"]}'),
}


@ENCODINGS
@pytest.mark.parametrize("n, old, new", LONE.values(), ids=LONE)
def test_a_lone_surrogate_is_refused_at_load(replay, encode, n, old, new):
    """BR-056."""
    assert old in LINES[n]
    error = refused(replay, encode(with_event(n, LINES[n].replace(old, new))))
    assert (error["code"], error["line"]) == ("json/lone_surrogate", n + 1)


def test_a_surrogate_pair_is_one_character(replay):
    """BR-056: the escaped pair and the character itself are the same content."""
    escaped = LINES[6].replace("A table for two", "\\ud83c\\udf78")
    plain = LINES[6].replace("A table for two", "\U0001f378")
    code, report = replay(as_lines([*LINES[:6], escaped, plain, *LINES[7:]]))
    assert (code, report["ignored"]) == (0, 1)


def test_raw_surrogate_bytes_are_no_utf8(replay):
    """BR-056: the half written as three bytes is invalid UTF-8."""
    data = as_lines(LINES).encode().replace(b"A table", b"\xed\xa0\xbd")
    assert refused(replay, data)["code"] == "json/encoding"


def test_a_lone_surrogate_through_the_api_is_refused():
    """BR-056: no later crash in a digest or a message."""
    session = Session(HEADER["session"])
    session.receive(EVENTS[0])
    for bad in (event("e6", "turn.transcript", 450, turn_id="t1", text="\ud83d", final=True),
                event("e6\ud83d", "turn.transcript", 450, turn_id="t1", text="x", final=True),
                event("e6", "turn.transcript", 450, turn_id="t1", text="x", final=True, **{"k\udf78": 1})):
        decision = session.receive(bad)
        assert decision.kind == "rejected"
        repr(decision).encode("utf-8", "backslashreplace")
    session.state_digest()


# --- BR-057: huge and odd numbers ---


@ENCODINGS
@pytest.mark.parametrize("old, new", [
    ('"sequence": 0', '"sequence": 1' + "0" * 30),
    ('"at_ms": 0', '"at_ms": 9007199254740993'),
    ('"at_ms": 0', '"at_ms": -9007199254740992'),
    ('"duration_ms": 20', '"duration_ms": ' + "9" * 5000),
    ('"duration_ms": 20', '"duration_ms": 9007199254740994.0'),
], ids=["31 digits", "2^53+1", "-2^53", "5000 digits", "equal to an integer"])
def test_an_integer_out_of_range_is_refused(replay, encode, old, new):
    """BR-057: one code for all of them, in good time."""
    assert old in LINES[1]
    error = refused(replay, encode(with_event(1, LINES[1].replace(old, new))))
    assert (error["code"], error["line"]) == ("json/integer_range", 2)


@ENCODINGS
@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_not_finite_is_refused(replay, encode, number):
    """BR-057."""
    error = refused(replay, encode(with_event(4, LINES[4].replace('"guests": 2', f'"guests": {number}'))))
    assert (error["code"], error["line"]) == ("json/non_finite", 5)


@ENCODINGS
def test_the_largest_safe_integer_is_read(replay, encode):
    """BR-057: both ends of the range, as values of a tool."""
    fine = LINES[4].replace('{"guests": 2}', '{"guests": [9007199254740991, -9007199254740991, 1e21, 0.5]}')
    assert replay(encode(with_event(4, fine)))[0] == 0


@ENCODINGS
@pytest.mark.parametrize("number, code", [("-0", 0), ("0.0", 1), ("0e0", 1), ("-0.0", 1)])
def test_minus_zero_is_zero_and_a_fraction_is_no_integer(replay, encode, number, code):
    """BR-057: -0 has no fraction and is the integer 0; 0.0 is not written as an integer."""
    got, report = replay(encode(with_event(1, LINES[1].replace('"sequence": 0', f'"sequence": {number}'))))
    assert got == code
    assert [v["rule"] for v in report["violations"]] == ["event/value"] * code


@pytest.mark.parametrize("value", [10**30, 2**53, -(2**53), 10**5000, float("nan"), float("inf")],
                         ids=["1e30", "2^53", "-2^53", "5001 digits", "nan", "inf"])
def test_a_huge_number_through_the_api_is_refused(value):
    """BR-057."""
    session = Session(HEADER["session"])
    bad = event("e1", "audio.frame", 0, turn_id="t1", sequence=value, duration_ms=20, speech=True)
    decision = session.receive(bad)
    assert (decision.kind, decision.violation.rule) == ("rejected", "event/value")
    assert session.receive(EVENTS[0]).kind == "accepted"


# --- the same through a real process ---


@pytest.mark.parametrize("name, text", [
    ("BR-053", as_lines(with_event(1, DUPLICATES["escaped"]))),
    ("BR-055", "[" * 100_000),
    ("BR-056", as_lines(with_event(6, LINES[6].replace("two", "\\ud83d")))),
    ("BR-057", as_lines(with_event(1, LINES[1].replace('"sequence": 0', '"sequence": ' + "9" * 5000)))),
], ids=["BR-053", "BR-055", "BR-056", "BR-057"])
def test_a_process_says_one_line_and_ends_with_two(tmp_path, name, text):
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(text.encode())
    command = [sys.executable, "-B", "-W", "error", "-m", "realtime_session", "replay", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert b"Traceback" not in done.stderr
