"""The JSON document form of a trace, decoded event by event from a bounded buffer.

Also tells the two encodings apart: the head of both is an object that begins with "session" (or "case",
or, in a document whose keys were sorted, "events"). If that object closes before any "events", what
follows are JSON Lines.
"""
from __future__ import annotations

import codecs

from realtime_session.contract.events import quick_checker
from realtime_session.contract.header import HeaderError
from realtime_session.values.errors import escaped, show
from realtime_session.values.strict_json import MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_EVENT_BYTES, JsonError, parse, scan

BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 18
_SPACE = " \t\r\n"
_KEYS = ("session", "case", "events")


class Source:
    """A decoded window on a binary file, with the line and byte offset of its cursor."""

    def __init__(self, file):
        self.file = file
        self.text, self.at, self.line, self.offset = "", 0, 1, 0
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._raw_tail = b""       # undecoded bytes, for handing over to the line reader
        self._before = 0           # characters of the window's first line that were dropped before it
        self.ended = False
        first = file.read(3)
        if first == BOM:
            self.offset = 3
        else:
            self._feed(first)

    def _feed(self, block):
        try:
            more = self._decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise JsonError("json/encoding", f"not UTF-8: {error.reason}",
                            line=self.line + self.text.count("\n", self.at)
                            + error.object.count(b"\n", 0, error.start)) from None
        self.ended = not block
        cut = self.text.rfind("\n", 0, self.at)
        self._before = self.at - cut - 1 if cut >= 0 else self._before + self.at
        self.text = self.text[self.at:] + more
        self.at = 0

    def fill(self, wanted=1):
        """Makes at least `wanted` characters available, unless the file ends."""
        while len(self.text) - self.at < wanted and not self.ended:
            self._feed(self.file.read(_BLOCK))
        return len(self.text) - self.at >= wanted

    def skip(self, end):
        """Moves the cursor to index `end` of the window."""
        passed = self.text[self.at:end]
        self.line += passed.count("\n")
        self.offset += len(passed) if passed.isascii() else len(passed.encode("utf-8"))
        self.at = end

    def peek(self):
        """The next character that is not white space, or "" at the end; the cursor stands on it."""
        while self.fill():
            end = self.at
            while end < len(self.text) and self.text[end] in _SPACE:
                end += 1
            self.skip(end)
            if end < len(self.text):
                return self.text[end]
        return ""

    def expect(self, characters, path):
        """Takes one of the characters (white space before it skipped); JsonError if another comes."""
        found = self.peek()
        if not found or found not in characters:
            raise self.error("json/syntax", f"expected {' or '.join(characters)}, got "
                             + (show(found) if found else "the end of the file"), path)
        self.skip(self.at + 1)
        return found

    def column(self):
        """The cursor's column in its line, from 1."""
        cut = self.text.rfind("\n", 0, self.at)
        return self.at - cut if cut >= 0 else self._before + self.at + 1

    def error(self, code, message, path):
        """A JsonError at the cursor."""
        return JsonError(code, message, line=self.line, column=self.column(), path=path)

    def value(self, path, checked_by=None):
        """One strict JSON value of at most MAX_EVENT_BYTES from the cursor: (value, fast check passed)."""
        self.peek()
        self.fill(MAX_EVENT_BYTES + 1)
        try:
            value, end = scan(self.text, self.at)
            text = self.text[self.at:end]
        except (ValueError, StopIteration, RecursionError):
            raise self._explain(path) from None
        if checked_by is not None and "\\u" not in text and text.count("{") + text.count("[") <= MAX_DEPTH \
                and checked_by(value) == text.count(":"):
            self._check_size(text, path)
            self.skip(end)
            return value, True
        self._check_size(text, path)
        try:
            value = parse(text, max_bytes=MAX_EVENT_BYTES)
        except JsonError as error:
            raise self._moved(error, path) from None
        self.skip(end)
        return value, False

    def _check_size(self, text, path):
        if len(text) > MAX_EVENT_BYTES or not text.isascii() and len(text.encode("utf-8")) > MAX_EVENT_BYTES:
            raise self.error("json/too_large", f"a value of more than {MAX_EVENT_BYTES} bytes", path)

    def _explain(self, path):
        """Why no value could be scanned here, in the strict parser's words."""
        text = self.text[self.at:self.at + MAX_EVENT_BYTES + 1]
        try:
            return parse(text, max_bytes=len(text) * 4 + 4)  # it raises: the scanner has just refused this text
        except JsonError as error:
            cut = len(text) > MAX_EVENT_BYTES and error.code == "json/syntax"
            if cut:
                return self.error("json/too_large", f"a value of more than {MAX_EVENT_BYTES} bytes", path)
            return self._moved(error, path)

    def _moved(self, error, path):
        column = self.column() - 1 if (error.line or 1) == 1 else 0
        return JsonError(error.code, error.message, line=self.line + (error.line or 1) - 1,
                         column=None if error.column is None else error.column + column,
                         path=path + (error.path or ""))

    def take_rest(self):
        """The bytes already decoded behind the cursor, for a reader that goes on with bytes."""
        pending = self._decode.__self__.getstate()[0]
        rest = self.text[self.at:].encode("utf-8") + pending
        self.text, self.at = "", 0
        return rest


class DocumentReader:
    """The head of any trace, and the events of a document."""

    def __init__(self, source, seekable):
        self.source, self._seekable = source, seekable
        self._found = {}
        self._events_at = None

    def head(self):
        """(session header, case or None, whether JSON Lines follow)."""
        source = self.source
        first = source.peek()
        if first != "{":
            got = "an empty file" if not first else show(first)
            if first and first not in '["-0123456789tfn':
                raise source.error("json/syntax", f"expected a JSON object, got {got}", "")
            raise HeaderError("trace/header", f'expected an object with "session" first, got {got}', line=source.line,
                              path="")
        source.skip(source.at + 1)
        if source.peek() == "}":
            raise HeaderError("trace/header", 'expected the key "session"', line=source.line, path="")
        ended = self._keys()
        if "session" not in self._found:
            if ended:
                raise HeaderError("trace/header", 'expected the key "session"', line=source.line, path="")
            self._look_ahead()
        lines = ended
        if lines:
            self._end_of_line()
        return self._found["session"], self._found.get("case"), lines

    def _keys(self):
        """Reads keys up to "events" or the end of the object; True when the object ended."""
        source = self.source
        while True:
            key, _ = source.value("") if source.peek() == '"' else (None, False)
            if key is None:
                raise source.error("json/syntax", "expected a key in double quotes", "")
            if key in self._found or key == "events" and self._events_at is not None:
                raise source.error("json/duplicate_key", f"the key {show(key)} is there twice", f"/{escaped(key)}")
            if key not in _KEYS:
                raise HeaderError("trace/header", f"unknown key {show(key)}, expected session, events or case",
                                  line=source.line, path="")
            source.expect(":", "/" + escaped(key))
            if key == "events":
                source.expect("[", "/events")
                self._events_at = source.offset
                return False
            self._found[key], _ = source.value("/" + key)
            if source.expect(",}", "") == "}":
                return True

    def _end_of_line(self):
        """The header of JSON Lines ends with its line."""
        source = self.source
        while source.fill():
            character = source.text[source.at]
            if character == "\n":
                source.skip(source.at + 1)
                return
            if character not in " \t\r":
                raise source.error("json/syntax", f"expected the end of the line, got {show(character)}", "")
            source.skip(source.at + 1)

    def _look_ahead(self):
        """A document whose events come before its session (sorted keys): find the session, then come back."""
        if not self._seekable:
            raise HeaderError("trace/header", "events come before session: this needs a file, not a pipe",
                              line=self.source.line, path="")
        here = self.source
        for _ in self.events(None):
            pass
        if "session" not in self._found:
            raise HeaderError("trace/header", 'expected the key "session"', line=self.source.line, path="")
        here.file.seek(0)
        again = Source(here.file)
        self.source, case = again, self._found.get("case")
        session = self._found["session"]
        self._found, self._events_at = {}, None
        again.expect("{", "")
        self._keys()
        self._found = {"session": session} if case is None else {"session": session, "case": case}
        self._rewound = True

    _rewound = False

    def events(self, profile):
        """The events of the document, checked, with their lines and offsets; then its end is checked."""
        source, index = self.source, 0

        check = quick_checker(profile)
        if source.peek() == "]":
            source.skip(source.at + 1)
        else:
            while True:
                source.peek()
                line, offset = source.line, source.offset
                event, checked = source.value(f"/events/{index}", check)
                if offset > MAX_DOCUMENT_BYTES:
                    raise source.error("json/too_large", f"a document of more than {MAX_DOCUMENT_BYTES} bytes", "")
                yield event, checked or check(event) >= 0, line, offset
                index += 1
                if source.expect(",]", f"/events/{index}") == "]":
                    break
        self._tail()

    def _tail(self):
        source = self.source
        if source.expect(",}", "") == ",":
            known = self._found
            if self._rewound:
                self._found = {}
            self._keys()
            if self._rewound:
                self._found = known
        rest = source.peek()
        if rest:
            raise source.error("json/syntax", f"expected the end of the document, got {show(rest)}", "")
