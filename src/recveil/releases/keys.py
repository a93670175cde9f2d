"""Keys to sign with: files that only their owner reads, keys of an SSH agent, tokens. All are Ed25519."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from recveil.errors import RecveilError
from recveil.releases.agent import agent_key
from recveil.releases.places import os_errors
from recveil.releases.signing import Ask, Signer, fingerprint
from recveil.releases.token import token_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

LARGEST = 10_000  # bytes of a file that may be a key


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
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    return fingerprint(_raw(key.public_key()))


def load_key(name: str | Path, ask: Ask = lambda: None) -> Signer:
    """A key by where it lies: a file, agent:COMMENT (an SSH agent), or pkcs11:... (a token). `ask`: its passphrase."""
    for scheme, opened in (("agent:", agent_key), ("pkcs11:", token_key)):
        if str(name).startswith(scheme):
            return opened(str(name), ask)
    return file_key(Path(name), ask)


def file_key(path: Path, ask: Ask = lambda: None) -> Signer:
    """A private key from its file, which nobody else may be able to read; `ask` is for its passphrase."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text = _private_text(path)
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
    return Signer(fingerprint(raw), base64.b64encode(raw).decode(), key.sign, path)


def unlocked_beside(path: Path) -> dict[str, str]:
    """The fingerprints of other keys that lie in the folder of a key and that anybody who has it can use."""
    found: dict[str, str] = {}
    for other in sorted(path.absolute().parent.iterdir()):
        if other.name == path.name or not other.is_file() or other.stat().st_size > LARGEST:
            continue
        try:
            found[file_key(other).fingerprint] = other.name
        except RecveilError:  # no key, or one that is locked
            continue
    return found


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
