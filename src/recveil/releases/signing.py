"""Keys and envelopes: Ed25519 keys in files of their owner alone, and DSSE envelopes that they seal.

A fingerprint is the SHA-256 of the 32 bytes of a public key, in hexadecimal. An envelope is one line of JSON; the
public key travels inside it, and whoever reads it compares the fingerprint with those they know.
"""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recveil.errors import RecveilError
from recveil.releases.places import os_errors

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PAYLOAD = "application/vnd.in-toto+json"
Ask = Callable[[], str | None]  # for the passphrase of a key that has one


class BrokenEnvelopeError(RecveilError):
    """A line that is no envelope, or whose signature does not hold."""


@dataclass(frozen=True)
class Signer:
    """A private key, ready to sign."""

    fingerprint: str
    public: str  # base64
    key: Ed25519PrivateKey


@dataclass(frozen=True)
class Opened:
    """What an envelope holds, and whose key sealed it."""

    statement: dict[str, Any]
    fingerprint: str


def new_key(path: str | Path, passphrase: str | None = None) -> str:
    """Write a new private key that only its owner can read, and return its fingerprint. Nothing is overwritten."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = Path(path)
    if path.exists():
        raise RecveilError(f"{path} exists already; a key is never overwritten: choose another name")
    if passphrase == "":
        raise RecveilError("an empty passphrase protects nothing; give one, or leave --passphrase out")
    lock = form.BestAvailableEncryption(passphrase.encode()) if passphrase else form.NoEncryption()
    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, lock)
    with os_errors(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    return fingerprint(_raw(key.public_key()))


def load_key(path: str | Path, ask: Ask = lambda: None) -> Signer:
    """A private key from its file, which nobody else may be able to read; `ask` is for its passphrase."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text = _private_text(Path(path))
    no_key = RecveilError(f"{path} is not an Ed25519 key; `recveil keys new FILE` makes one")
    try:
        key = load_pem_private_key(text, None)
    except TypeError:  # it is encrypted
        passphrase = ask()
        if not passphrase:
            raise RecveilError(
                f"{path} needs its passphrase: set RECVEIL_PASSPHRASE, or answer at a terminal"
            ) from None
        try:
            key = load_pem_private_key(text, passphrase.encode())
        except (ValueError, UnsupportedAlgorithm):
            raise RecveilError(f"{path}: this is not its passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        raise no_key from None
    if not isinstance(key, Ed25519PrivateKey):
        raise no_key
    raw = _raw(key.public_key())
    return Signer(fingerprint(raw), base64.b64encode(raw).decode(), key)


def fingerprint(public: bytes) -> str:
    """The name of a public key."""
    return sha256(public).hexdigest()


def seal(statement: dict[str, Any], signer: Signer) -> str:
    """A statement in an envelope, as one line without its end."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey

    signed = {**statement, "predicate": {**statement["predicate"], "signer": signer.public}}
    payload = json.dumps(signed, ensure_ascii=False, allow_nan=False, sort_keys=True).encode()
    public = SSlibKey.from_crypto(signer.key.public_key(), signer.fingerprint)
    envelope = Envelope(payload, PAYLOAD, {})
    envelope.sign(CryptoSigner(signer.key, public))
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


def _raw(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _private_text(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise RecveilError(f"{path} is not a file; name the key that `recveil keys new` wrote")
            if mode & 0o077:
                raise RecveilError(f"{path} can be read by others, so it proves nothing: chmod 600, or make a new key")
            return file.read()
    except OSError as error:
        raise RecveilError(f"{path} cannot be read: {error.strerror or error}") from None
