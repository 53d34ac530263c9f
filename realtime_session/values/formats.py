"""String formats that a schema may assert: date, time, date-time, email, uuid, ipv4, ipv6.

Every check is one pass over the text with ASCII digits only, so hostile text costs no more than its length.
"""
from __future__ import annotations

_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_ALNUM = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ATOM = _ALNUM | frozenset("!#$%&'*+-/=?^_`{|}~")
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _two_digits(text):
    """0 to 99 for exactly two ASCII digits, else 100, which is outside every range asked for here."""
    return int(text) if len(text) == 2 and _DIGITS.issuperset(text) else 100


def is_date(text):
    """True for a full-date that exists in the Gregorian calendar, YYYY-MM-DD (RFC 3339 section 5.6)."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-" or not _DIGITS.issuperset(text[:4]):
        return False
    year, month, day = int(text[:4]), _two_digits(text[5:7]), _two_digits(text[8:])
    if not 1 <= month <= 12:
        return False
    leap_day = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _MONTH_DAYS[month - 1] + leap_day


def _offset_minutes(text):
    """Minutes east of UTC for "Z" or a +hh:mm offset; None when the text is neither."""
    if text in ("Z", "z"):
        return 0
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":":
        return None
    hours, minutes = _two_digits(text[1:3]), _two_digits(text[4:])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * (1 if text[0] == "+" else -1)


def is_time(text):
    """True for a full-time with its offset (RFC 3339 section 5.6).

    Second 60 is taken only where a leap second can be: in the last minute of the day in UTC (section 5.7)."""
    if text[2:3] != ":" or text[5:6] != ":":
        return False
    hour, minute, second = _two_digits(text[:2]), _two_digits(text[3:5]), _two_digits(text[6:8])
    if hour > 23 or minute > 59 or second > 60:
        return False
    rest = text[8:]
    if rest[:1] == ".":
        zone = rest[1:].lstrip("0123456789")
        if len(zone) == len(rest) - 1:
            return False  # a point without digits
        rest = zone
    offset = _offset_minutes(rest)
    if offset is None:
        return False
    return second < 60 or (hour * 60 + minute - offset) % 1440 == 1439


def is_date_time(text):
    """True for a date-time: a full-date, "T" or "t", a full-time (RFC 3339 section 5.6)."""
    return text[10:11] in ("T", "t") and is_date(text[:10]) and is_time(text[11:])


def is_ipv4(text):
    """True for four decimal numbers 0 to 255 without leading zeros (dotted-quad, RFC 2673 section 3.2)."""
    parts = text.split(".", 4)
    return len(parts) == 4 and all(
        1 <= len(part) <= 3 and _DIGITS.issuperset(part) and int(part) <= 255
        and (part == "0" or part[0] != "0") for part in parts)


def is_ipv6(text):
    """True for an IPv6 address, without zone or prefix length (RFC 4291 section 2.2)."""
    if len(text) > 45:  # the longest form: six groups and a dotted quad
        return False
    head, gap, tail = text.partition("::")
    groups = head.split(":") if head else []
    if gap and tail:
        groups += tail.split(":")
    count = len(groups)
    if count and "." in groups[-1] and text.endswith(groups[-1]):
        if not is_ipv4(groups.pop()):
            return False
        count += 1  # a dotted quad stands for two groups
    if not all(1 <= len(group) <= 4 and _HEX.issuperset(group) for group in groups):
        return False
    return count <= 7 if gap else count == 8


def is_uuid(text):
    """True for 8-4-4-4-12 hexadecimal digits in either case (RFC 4122 section 3)."""
    parts = text.split("-", 5)
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and all(map(_HEX.issuperset, parts))


def _is_local_part(text):
    if len(text) >= 2 and text[0] == '"' == text[-1]:
        escaped = False
        for char in text[1:-1]:
            if not " " <= char <= "~" or (char == '"' and not escaped):
                return False
            escaped = char == "\\" and not escaped
        return not escaped
    return all(atom and _ATOM.issuperset(atom) for atom in text.split("."))


def _is_domain(text):
    if text[:1] == "[" and text[-1:] == "]":
        literal = text[1:-1]
        return is_ipv6(literal[5:]) if literal[:5].lower() == "ipv6:" else is_ipv4(literal)
    return len(text) <= 255 and all(
        1 <= len(label) <= 63 and label[0] in _ALNUM and label[-1] in _ALNUM
        and _ALNUM.issuperset(label.replace("-", "")) for label in text.split("."))


def is_email(text):
    """True for one mailbox: local part, "@", domain or address literal (RFC 5321 section 4.1.2).

    The local part may be quoted; a comment, a display name or a list of mailboxes is no mailbox."""
    local, at, domain = text.rpartition("@")
    return bool(at) and _is_local_part(local) and _is_domain(domain)


FORMATS = {
    "date": is_date,
    "time": is_time,
    "date-time": is_date_time,
    "email": is_email,
    "uuid": is_uuid,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
}
