"""Formats that a schema asserts, judged by the examples and grammars of their RFCs."""

import json

import pytest

from realtime_session.values.formats import FORMATS
from tests.shared_data import shared

VALID = {
    "date": ["1985-04-12", "2000-02-29", "2024-02-29", "0000-01-01", "9999-12-31"],
    "time": ["23:20:50.52Z", "16:39:57-08:00", "12:00:27.87+00:20", "23:59:60Z", "15:59:60-08:00",
             "00:00:00z"],
    # the examples of RFC 3339 section 5.8
    "date-time": ["1985-04-12T23:20:50.52Z", "1996-12-19T16:39:57-08:00", "1990-12-31T23:59:60Z",
                  "1990-12-31T15:59:60-08:00", "1937-01-01T12:00:27.87+00:20", "1985-04-12t23:20:50z"],
    "email": ["ada@example.com", "a.b+c@example.co.uk", '"a b"@example.com', r'"a\"b"@example.com',
              "a@[192.0.2.1]", "a@[IPv6:2001:db8::1]", "a@x-1.example"],
    "uuid": ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"],
    "ipv4": ["0.0.0.0", "192.0.2.255"],
    # the examples of RFC 4291 section 2.2
    "ipv6": ["ABCD:EF01:2345:6789:ABCD:EF01:2345:6789", "2001:DB8:0:0:8:800:200C:417A", "FF01::101", "::1",
             "::",
             "0:0:0:0:0:0:13.1.68.3", "::FFFF:129.144.52.38", "1:2:3:4:5:6:7::"],
}
INVALID = {
    "date": ["", "1985-4-12", "1985-04-31", "1985-13-01", "1985-00-01", "1985-01-00", "1900-02-29",
             "2023-02-29",
             "19850412--", "198a-04-12", "1985-04-1a", "1985/04/12", "1985-04/12", "1985-04-12 ",
             "198\u0665-04-12"],
    "time": ["", "12", "12-00-00Z", "12:00-00Z", "12:00:00", "24:00:00Z", "12:60:00Z", "12:00:61Z",
             "12:00:00.Z",
             "12:00:60Z", "23:59:60+01:00", "12:00:00+24:00", "12:00:00+01:60", "12:00:00+0100",
             "12:00:00*01:00",
             "1a:00:00Z", "12:00:00+01-00"],
    "date-time": ["", "1985-04-12", "1985-04-12 23:20:50Z", "1985-04-31T23:20:50Z", "1985-04-12T23:20:50"],
    "email": ["", "ada", "@example.com", "ada@", "a..b@example.com", ".a@example.com", "a b@example.com",
              'a"b@example.com', '"a"b"@example.com', '"a\\"@example.com', '"a\tb"@example.com',
              '"@example.com',
              "a@-example.com", "a@example-.com", "a@exa_mple.com", "a@example..com", "a@[192.0.2.256]",
              "a@[IPv6:1]", "a@" + "b" * 64 + ".com", "a@" + "b." * 128 + "com"],
    "uuid": ["", "f81d4fae7dec11d0a76500a0c91e6bf6", "g81d4fae-7dec-11d0-a765-00a0c91e6bf6",
             "f81d4fae-7dec-11d0-a765-00a0c91e6bf6-", "{f81d4fae-7dec-11d0-a765-00a0c91e6bf}"],
    "ipv4": ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.a", "1.2..4", "1.2.3.4\n"],
    "ipv6": ["", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::",
             "::1%eth0",
             "1:2:3:4:5:6:7:8::", "1.2.3.4::", "::1.2.3", "1:2:3:4:5:6:7:1.2.3.4", "::1/64", "0" * 46],
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_valid_text_is_taken(name):
    assert [text for text in VALID[name] if not FORMATS[name](text)] == []


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_invalid_text_is_refused(name):
    assert [text for text in INVALID[name] if FORMATS[name](text)] == []


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_public_format_examples_are_judged_right(name):
    folder = "oracles/JSON-Schema-Test-Suite/tests/draft2020-12/optional/format"
    groups = json.loads(shared(folder, f"{name}.json").read_text(encoding="utf-8"))
    examples = [test for group in groups for test in group["tests"] if isinstance(test["data"], str)]
    assert len(examples) > 5
    assert [test for test in examples if FORMATS[name](test["data"]) != test["valid"]] == []
