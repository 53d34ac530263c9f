"""The pattern engine: verdicts of ECMA-262 regular expressions, spans, refusals, bounded work."""

import pytest

from realtime_session.values.pattern import MAX_PATTERN_CHARACTERS, compile_pattern
from realtime_session.values.pattern_syntax import PatternError

VERDICTS = [
    # pattern, texts it matches, texts it does not match
    ("", ["", "a"], []),
    ("abc", ["abc", "xabcx"], ["", "ab", "acb"]),
    ("^abc$", ["abc"], ["xabc", "abcx", "abc\n", "\nabc"]),
    ("a|", ["", "b"], []),
    ("^(?:a|bc|d)$", ["a", "bc", "d"], ["", "b", "abc"]),
    ("^(a|b|[0-9])+$", ["a1b"], ["", "c"]),
    ("^a*$", ["", "aaa"], ["b"]),
    ("^a+?$", ["a", "aaa"], [""]),
    ("^ab??c$", ["ac", "abc"], ["abbc"]),
    ("^a{3}$", ["aaa"], ["aa", "aaaa"]),
    ("^a{2,}$", ["aa", "aaaa"], ["a"]),
    ("^a{0,}$", ["", "a"], ["b"]),
    ("^(?:ab){1,2}c$", ["abc", "ababc"], ["c", "abababc"]),
    ("^a{0}b$", ["b"], ["ab"]),
    ("^(a*)*$", ["", "aa"], ["b"]),
    ("^(){3,9}$", [""], ["a"]),
    ("^(?:(){99999}){99999}x$", ["x"], [""]),
    ("a{", ["a{"], ["a"]),
    ("^{x}]$", ["{x}]"], ["x"]),
    ("^(?<year>\\d{4})-(?<month>\\d\\d)$", ["2024-02"], ["2024-2"]),
    (".", ["a", "\u00e9", "\U0001f600", "\x85"], ["", "\n", "\r", "\u2028", "\u2029"]),
    ("^.$", ["\U0001f600"], ["ab"]),
    ("^\\d$", ["0", "9"], ["a", "\u0663"]),
    ("^\\D$", ["a", "\u0663"], ["0"]),
    ("^\\w$", ["a", "Z", "_", "5"], ["\u00e9", "-"]),
    ("^\\W$", ["\u00e9", "-"], ["a"]),
    ("^\\s$", [" ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "\ufeff", "\u2028", "\u2029", "\u2003",
               "\u3000"],
     ["a", "\x85", "\u200b", "\x1c"]),
    ("^\\S$", ["a", "\u200b"], [" "]),
    ("\\bcat\\b", ["cat", "a cat!", "-cat"], ["cats", "concat", "\u0663cat_"]),
    ("\\Bcat", ["concat"], ["cat", "a cat"]),
    ("^\\b", ["a"], ["", "-"]),
    ("a\\B$", [], ["a"]),
    ("\\B", ["", "-"], ["a"]),
    ("^(?:^|\\b)*a(\\b)+$", ["a"], ["ba"]),
    ("^[a-cx]$", ["a", "c", "x"], ["d", "-"]),
    ("^[^a-c]$", ["d", "\n", "\U0001f600"], ["a", ""]),
    ("[]", [], ["", "a"]),
    ("^[^]$", ["a", "\n"], [""]),
    ("^[\\d\\s.-]$", ["1", " ", ".", "-"], ["a"]),
    ("^[-a]$", ["-", "a"], ["b"]),
    ("^[\\b]$", ["\b"], ["b"]),
    ("^[\\]\\\\^]$", ["]", "\\", "^"], ["a"]),
    ("^[a-\\x63]$", ["b"], ["d"]),
    ("^[\\0-\\x02\\uD83D\\uDE00]$", ["\x01", "\U0001f600"], ["\x03"]),
    ("^\\t\\n\\v\\f\\r\\0\\cJ\\x41\\u0042\\u{1F600}\\.\\/\\-\\@$", ["\t\n\v\f\r\0\nAB\U0001f600./-@"],
     [""]),
    ("^\\ud800x$", ["\ud800x"], ["x"]),
    ("x$|^y", ["ax", "yb"], ["xa", "by"]),
    ("$^", [""], ["a"]),
    ("(^a|b)c", ["ac", "xbc"], ["xac"]),
    ("[^\\u{0}-\\u{10FFFF}]", [], ["a"]),
]


@pytest.mark.parametrize(("pattern", "matching", "others"), VERDICTS)
def test_verdicts_follow_ecma_262(pattern, matching, others):
    compiled = compile_pattern(pattern)
    assert [text for text in matching if not compiled.search(text)] == []
    assert [text for text in others if compiled.search(text)] == []


@pytest.mark.parametrize(("pattern", "text", "span"), [
    ("b+", "abbbcbb", (1, 4)),
    ("a|ab|abc", "xabcd", (1, 4)),
    ("abcd|bc", "abce", (1, 3)),
    ("x*", "baa", (0, 0)),
    ("a*$", "baa", (1, 3)),
    ("$", "ab", (2, 2)),
    ("^", "ab", (0, 0)),
    ("\\bno\\b", "not now, no", (9, 11)),
    ("\\d{2,3}", "a1b12345", (3, 6)),
    ("z", "ab", None),
    ("", "", (0, 0)),
    ("[^a]+", "a\U0001f600\u00e9a", (1, 3)),
])
def test_a_span_is_the_longest_from_the_leftmost_start(pattern, text, span):
    assert compile_pattern(pattern).match_span(text) == span


@pytest.mark.parametrize(("pattern", "column"), [
    ("(", 2), (")", 1), ("a)b", 2), ("[a", 1), ("*a", 1), ("a|+", 3), ("{2}", 1), ("{,2}", 1), ("a{2", 4),
    ("a{,2}", 3), ("a{2,1}", 7), ("a**", 3), ("a{1}+", 5), ("^*", 3), ("\\b+", 4), ("[b-a]", 5),
    ("[\\w-a]", 6),
    ("[a-\\d]", 6), ("\\xg1", 3), ("\\u12", 3), ("\\u{}", 4), ("\\u{110000}", 10), ("\\u{1", 4), ("\\q", 1),
    ("\\A", 1), ("\\c1", 1), ("\\", 1), ("[\\", 2), ("\\uD83D\\u0041", 13), ("(?<1>a)", 4), ("(?<a", 4),
    ("\\u{1234567}", 4),
])
def test_a_broken_pattern_is_refused_with_its_column(pattern, column):
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert (caught.value.code, caught.value.column) == ("pattern/invalid", column)


@pytest.mark.parametrize("pattern", [
    "(a)\\1", "(?<n>a)\\k<n>", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "\\p{L}", "[\\P{L}]", "(?i)a",
    "(?P<n>a)",
    "(?>a)", "a{1000000}", "(" * 61 + ")" * 61, "(?:a{1000}){1000}", "a{9999}", "(a?){3000}",
    "(?:a|bc){900}",
    "(){0,99999}", "a" * (MAX_PATTERN_CHARACTERS + 1), "a" * 9000,
])
def test_what_cannot_be_matched_in_bounded_work_is_refused(pattern):
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert caught.value.code == "pattern/unsupported"


def test_a_pattern_is_a_string():
    with pytest.raises(PatternError):
        compile_pattern(None)


def test_a_pattern_shows_its_text():
    assert repr(compile_pattern("a+")) == "Pattern('a+')"
    assert compile_pattern("a+").text == "a+"


@pytest.mark.parametrize(("pattern", "text", "found"), [
    ("(a+)+$", "a" * 20_000 + "b", False),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 20_000, False),
    ("(.*){50}x", "ab" * 5_000, False),
    ("(a?){200}a{200}", "a" * 5_000, True),
    ("(x+x+)+y", "x" * 20_000, False),
])
def test_hostile_text_costs_no_more_than_its_length(pattern, text, found):
    # A backtracking engine would not come back from these.
    compiled = compile_pattern(pattern)
    assert compiled.search(text) is found
    assert (compiled.match_span(text) is not None) is found


def test_memory_stays_bounded_when_no_state_comes_back():
    # Each new character makes a new move; what is kept is dropped now and then without changing a verdict.
    compiled = compile_pattern("^[^x]*x$")
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 20_900)))
    assert not compiled.search(text)
    assert compiled.search(text + "x")
    assert compiled.search(text + "x")
    assert compiled.match_span(text + "x") == (0, 20_901)
