"""A checkpoint: a session as a JSON value that a fresh process can go on from (contract 5, seed 003).

It holds the sha256 of the resume token, never the token, and a digest over itself.
"""
from __future__ import annotations

from realtime_session.values.errors import InputError
from realtime_session.values.strict_json import JsonError, canonical

FORMAT = 1


class CheckpointError(InputError):
    """A checkpoint that was damaged (checkpoint/corrupt) or made under another contract (checkpoint/version)."""


def content_digest(event):
    """16 bytes of blake2b over the canonical content of an event."""
    content = {key: event[key] for key in ("event_id", "type", "at_ms", "payload")}
    return short_digest(canonical(content).encode("utf-8"))


def short_digest(data):
    """16 bytes of blake2b over bytes."""
    try:
        from _blake2 import blake2b  # hashlib would load OpenSSL first, for milliseconds of nothing
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=16).digest()


def contract_digest():
    """Identifies the contract in force: the rules with their levels and the event vocabulary."""
    from realtime_session.contract.events import EVENTS
    from realtime_session.contract.rules import RULES
    rules = [[r.id, r.half, r.full] for r in RULES]
    events = [[e.type, e.half, [[f.name, f.half, f.full, f.required] for f in e.fields]] for e in EVENTS.values()]
    return _sha256([FORMAT, rules, events])


def _sha256(value):
    from hashlib import sha256
    return sha256(canonical(_plain(value)).encode("utf-8")).hexdigest()


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def write(header, view, seen, token_sha256):
    """The checkpoint value of a session."""
    body = {"format": FORMAT, "contract": contract_digest(),
            "header": {k: v for k, v in header.items() if k != "resume_token"},
            "state": view, "seen": seen, "token_sha256": token_sha256}
    return {**body, "digest": _sha256(body)}


def read(value):
    """(header, state view, seen, token digest) of a checkpoint; raises CheckpointError."""
    if value.__class__ is not dict or "digest" not in value:
        raise CheckpointError("checkpoint/corrupt", "expected a checkpoint object with its digest")
    body = {key: part for key, part in value.items() if key != "digest"}
    try:
        digest = _sha256(body)
    except JsonError as error:
        raise CheckpointError("checkpoint/corrupt", error.message) from None
    if digest != value["digest"]:
        raise CheckpointError("checkpoint/corrupt", "the content does not match the digest: it was damaged or edited")
    if body.get("format") != FORMAT or body.get("contract") != contract_digest():
        raise CheckpointError("checkpoint/version", "made under another version of the contract")
    return tuple(body.get(part) for part in ("header", "state", "seen", "token_sha256"))
