"""The trace reader: two encodings, places, recall, and text at the edges of its blocks."""

import io
import json

import pytest

from realtime_session.contract.header import HeaderError
from realtime_session.traces.reader import TraceReader, read_trace
from realtime_session.values.strict_json import JsonError

HEADER = {"session": {"session_id": "s", "resume_token": "t"}}


def note(n, text="x"):
    return {"event_id": f"e{n}", "type": "turn.transcript", "at_ms": n,
            "payload": {"turn_id": "t", "text": text, "final": True}}


def lines(events, **options):
    return "".join(json.dumps(value, **options) + "\n" for value in (HEADER, *events)).encode()


def document(events, **options):
    return json.dumps({**HEADER, "events": events}, **options).encode()


def read(data):
    return [(event, checked, line) for event, checked, line, _ in read_trace(io.BytesIO(data))]


ENCODE = pytest.mark.parametrize("encode", [lines, document])


@ENCODE
def test_header_case_and_events(encode):
    reader = read_trace(io.BytesIO(encode([note(1), note(2)])))
    assert reader.header == HEADER["session"] and reader.case is None
    assert reader.profile == "half_duplex"
    assert [event for event, *_ in reader] == [note(1), note(2)]


def test_a_fixture_is_a_document_with_a_case():
    for data in ({"case": {"title": "x"}, **HEADER, "events": [note(1)]},
                 {**HEADER, "case": {"title": "x"}, "events": [note(1)]},
                 {"case": {"title": "x"}, "events": [note(1)], **HEADER}):
        reader = read_trace(io.BytesIO(json.dumps(data).encode()))
        assert (reader.case, reader.header) == ({"title": "x"}, HEADER["session"])
        assert [event for event, *_ in reader] == [note(1)]


def test_a_document_may_bring_its_case_last():
    data = json.dumps({**HEADER, "events": [note(1)], "case": 1}).encode()
    assert [event for event, _, _ in read(data)] == [note(1)]
    with pytest.raises(HeaderError):
        read(json.dumps({**HEADER, "events": [], "more": 1}).encode())


@pytest.mark.parametrize("space", ["", " ", "\n", "\r\n\t "])
def test_white_space_between_anything_in_a_document(space):
    data = space.join(['{', '"session"', ':', json.dumps(HEADER["session"]), ',', '"events"', ':', '[',
                       json.dumps(note(1)), ',', json.dumps(note(2)), ']', '}', ""]).encode()
    assert [event for event, _, _ in read(data)] == [note(1), note(2)]
    empty = space.join(['{', '"session"', ':', json.dumps(HEADER["session"]), ',', '"events"', ':', '[', ']', '}'])
    assert read(empty.encode()) == []


def test_a_header_line_may_end_in_blanks():
    data = json.dumps(HEADER).encode() + b" \t\r\n" + json.dumps(note(1)).encode()
    assert [event for event, _, _ in read(data)] == [note(1)]
    assert read(json.dumps(HEADER).encode() + b"  ") == []


def test_events_first_needs_a_file_that_can_be_read_twice():
    data = json.dumps({"events": [note(1)], **HEADER}).encode()
    assert [event for event, *_ in TraceReader(io.BytesIO(data))] == [note(1)]
    with pytest.raises(HeaderError, match="needs a file"):
        TraceReader(io.BytesIO(data), seekable=False)
    for data in ('{"events": []}', '{"events": [], "case": 1}'):
        with pytest.raises(HeaderError, match='"session"'):
            TraceReader(io.BytesIO(data.encode()))


@ENCODE
def test_form_is_checked_on_the_way(encode):
    events = [note(1), {**note(2), "at_ms": "2"}, [3], {**note(4), "extra": {}}, note(5, "a: b: {["), note(6, "\u2028é")]
    assert [checked for _, checked, _ in read(encode(events))] == [True, False, False, False, True, True]
    assert [event for event, _, _ in read(encode(events, ensure_ascii=False))] == events


def test_blank_lines_are_counted_and_lines_are_physical():
    data = json.dumps(HEADER).encode() + b"\n\n  \r\n" + json.dumps(note(1)).encode() + b"\r\n\n" \
        + json.dumps(note(2)).encode()
    reader = read_trace(io.BytesIO(data))
    assert [line for _, _, line, _ in reader] == [4, 6]
    assert reader.blank_lines == 3


@ENCODE
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_an_event_can_be_read_again_at_its_offset(encode, ascii_only, mark):
    events = [note(n, text) for n, text in enumerate(["a", "é", "\U0001f378\u2028", "x" * 300, "é" * 200, "\\u00e9"])]
    reader = read_trace(io.BytesIO(mark + encode(events, ensure_ascii=ascii_only)))
    found = [(event, offset) for event, _, _, offset in reader]
    assert [event for event, _ in found] == events
    assert [reader.recall(offset) for _, offset in found] == events
    indented = mark + json.dumps({**HEADER, "events": events}, indent=2, ensure_ascii=ascii_only).encode()
    reader = read_trace(io.BytesIO(indented))
    for event, _, line, offset in reader:
        assert reader.recall(offset) == event, "in the middle of reading"
        assert indented[:offset].count(b"\n") + 1 == line


def test_a_large_event_is_read_again_whole():
    big = note(1, "é" * 500_000)
    reader = read_trace(io.BytesIO(lines([note(0), big, note(2)], ensure_ascii=False)))
    for event, _, _, offset in reader:
        assert reader.recall(offset) == event


@ENCODE
@pytest.mark.parametrize("step", [1, 7])
def test_nothing_is_lost_at_the_edges_of_blocks(encode, step):
    """Many megabytes of texts whose characters take one to four bytes."""
    text = "aé€\U0001f378" * 100
    events = [note(n, text[n % 4:] + "x" * (n % step)) for n in range(1500)]
    reader = read_trace(io.BytesIO(encode(events, ensure_ascii=False)))
    found = list(reader)
    assert [event for event, *_ in found] == events
    assert [reader.recall(offset) for *_, offset in found[::97]] == events[::97]


class Trickle(io.RawIOBase):
    """A pipe that gives what it pleases."""

    def __init__(self, data, size):
        self._data, self._size = io.BytesIO(data), size

    def readable(self):
        return True

    def read(self, size=-1):
        return self._data.read(min(size, self._size) if size >= 0 else self._size)


@ENCODE
@pytest.mark.parametrize("size", [3, 5, 64])
def test_a_pipe_may_trickle(encode, size):
    events = [note(n, "é€\U0001f378") for n in range(20)]
    data = encode(events, ensure_ascii=False)
    assert [event for event, *_ in read_trace(Trickle(data, size))] == events
    assert [event for event, *_ in read_trace(Trickle(b"\xef\xbb\xbf" + data, size))] == events


def test_bad_bytes_are_placed_in_their_line():
    for data in (lines([note(1), note(2)]) + b'{"event_id": "\xff"}\n', lines([note(1, "é"), note(2)],
                                                                            ensure_ascii=False) + b"\xe9\n"):
        with pytest.raises(JsonError) as caught:
            read(data)
        assert (caught.value.code, caught.value.line) == ("json/encoding", 4)
    data = json.dumps({**HEADER, "events": [note(1)]}, indent=1).encode().replace(b'"x"', b'"\xff"')
    with pytest.raises(JsonError) as caught:
        read(data)
    assert (caught.value.code, caught.value.line) == ("json/encoding", data[:data.index(b"\xff")].count(b"\n") + 1)


def test_bad_bytes_far_behind_the_header_are_placed_too():
    events = [note(n, "é" * 100) for n in range(8000)]
    data = lines(events, ensure_ascii=False) + b'\n{"event_id": "\xc3\xa9\xff"}\n'
    reader = read_trace(io.BytesIO(data))
    with pytest.raises(JsonError) as caught:
        for _ in reader:
            pass
    assert (caught.value.code, caught.value.line, caught.value.column) == ("json/encoding", 8003, 16)


def test_a_long_value_in_the_head_is_too_large():
    for data in (b'{"session": {"session_id": "' + b"x" * (1 << 20) + b'"}}', b'{"session": "' + b"x" * (3 << 20),
                 '{"session": {"session_id": "'.encode() + "é".encode() * (1 << 19) + b'"}}'):
        with pytest.raises(JsonError) as caught:
            read(data)
        assert caught.value.code == "json/too_large"


def test_a_document_beyond_its_limit_is_too_large(monkeypatch):
    from realtime_session.traces import document as module
    monkeypatch.setattr(module, "MAX_DOCUMENT_BYTES", 5000)
    assert len(read(document([note(n) for n in range(20)]))) == 20
    with pytest.raises(JsonError) as caught:
        read(document([note(n) for n in range(100)]))
    assert caught.value.code == "json/too_large"


def test_a_value_that_is_no_value():
    for tail in (b', "events": [x]}', b', "events": [', b', "events": [1, ', b', "events": [tru]}'):
        with pytest.raises(JsonError) as caught:
            read(json.dumps(HEADER).encode()[:-1] + tail)
        assert caught.value.code == "json/syntax"
        assert caught.value.path.startswith("/events/")
