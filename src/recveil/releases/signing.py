"""Envelopes: DSSE, sealed by whoever holds an Ed25519 key, wherever it lies (keys.py).

A fingerprint is the SHA-256 of the 32 bytes of a public key, in hexadecimal. An envelope is one line of JSON; the
public key travels inside it, and whoever reads it compares the fingerprint with those they know.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError

PAYLOAD = "application/vnd.in-toto+json"
Ask = Callable[[], str | None]  # for the passphrase of a key that has one


class BrokenEnvelopeError(RecveilError):
    """A line that is no envelope, or whose signature does not hold."""


@dataclass(frozen=True)
class Signer:
    """A private key, ready to sign; it may lie where nobody can read it. `source`: its file, where it has one."""

    fingerprint: str
    public: str  # base64
    sign: Callable[[bytes], bytes]
    source: Path | None = None


@dataclass(frozen=True)
class Opened:
    """What an envelope holds, and whose key sealed it."""

    statement: dict[str, Any]
    fingerprint: str


def fingerprint(public: bytes) -> str:
    """The name of a public key."""
    return sha256(public).hexdigest()


def seal(statement: dict[str, Any], signer: Signer) -> str:
    """A statement in an envelope, as one line without its end."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import Signature

    signed = {**statement, "predicate": {**statement["predicate"], "signer": signer.public}}
    payload = json.dumps(signed, ensure_ascii=False, allow_nan=False, sort_keys=True).encode()
    envelope = Envelope(payload, PAYLOAD, {})
    envelope.signatures[signer.fingerprint] = Signature(signer.fingerprint, signer.sign(envelope.pae()).hex())
    return _line(envelope.to_dict())


def unseal(line: str) -> Opened:
    """What a line says, after its signature was checked against the key that it names."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey

    try:
        envelope = Envelope.from_dict(json.loads(line))
        if _line(envelope.to_dict()) != line or envelope.payload_type != PAYLOAD:
            raise ValueError
        statement = json.loads(envelope.payload)
        raw = base64.b64decode(statement["predicate"]["signer"], validate=True)
        key = Ed25519PublicKey.from_public_bytes(raw)
    except Exception:  # whatever the parts of a broken line make of it, it is a broken line
        raise BrokenEnvelopeError("is not a whole envelope") from None
    name = fingerprint(raw)
    try:
        envelope.verify([SSlibKey.from_crypto(key, name)], 1)
    except VerificationError:
        raise BrokenEnvelopeError("was changed: its signature does not hold") from None
    return Opened(statement, name)


def _line(envelope: dict[str, Any]) -> str:
    return json.dumps(envelope, separators=(",", ":"), sort_keys=True)
