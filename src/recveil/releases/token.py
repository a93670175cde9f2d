"""Keys on a PKCS#11 token (a card, a security module): they never leave it. Needs the extra `token`.

A key is named as RFC 7512 does: pkcs11:token=NAME;object=LABEL?module-path=/usr/lib/softhsm/libsofthsm2.so
"""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import unquote

from recveil.errors import RecveilError
from recveil.releases.signing import Ask, Signer, fingerprint


def token_key(name: str, ask: Ask) -> Signer:
    """The Ed25519 key that a pkcs11: URI names; `ask` is for the token's PIN."""
    import pkcs11

    module, token, label = _parts(name)
    try:
        library = pkcs11.lib(module)
    except (RuntimeError, pkcs11.PKCS11Error):
        raise RecveilError(f"{module} is no PKCS#11 module that can be loaded") from None
    pin = ask()
    if not pin:
        raise RecveilError("the token needs its PIN: set RECVEIL_PASSPHRASE, or answer at a terminal")

    def opened() -> Any:
        return library.get_token(token_label=token).open(user_pin=pin)

    with _plainly(name), opened() as session:
        public = session.get_key(pkcs11.ObjectClass.PUBLIC_KEY, label=label)
        raw = bytes(public[pkcs11.Attribute.EC_POINT])[-32:]  # the point as an octet string, whatever is before it

    def sign(data: bytes) -> bytes:
        with _plainly(name), opened() as session:
            key = session.get_key(pkcs11.ObjectClass.PRIVATE_KEY, label=label)
            return bytes(key.sign(data, mechanism=pkcs11.Mechanism.EDDSA))

    return Signer(fingerprint(raw), base64.b64encode(raw).decode(), sign)


def _parts(name: str) -> tuple[str, str, str]:
    """The module, the token and the label of a URI."""
    path, _, query = name.removeprefix("pkcs11:").partition("?")
    pairs = [part.partition("=") for part in (*path.split(";"), *query.split("&")) if part]
    found = {key: unquote(value) for key, _, value in pairs}
    missing = [key for key in ("token", "object", "module-path") if not found.get(key)]
    if missing:
        raise RecveilError(
            f"{name} lacks {', '.join(missing)}: pkcs11:token=NAME;object=LABEL?module-path=/path/of/the/module.so"
        )
    return found["module-path"], found["token"], found["object"]


class _plainly:  # noqa: N801
    """What a token says in one line."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        import pkcs11

        if isinstance(error, pkcs11.PKCS11Error):
            why = {"PinIncorrect": "this is not its PIN", "NoSuchToken": "there is no such token",
                   "NoSuchKey": "it has no such key"}.get(type(error).__name__)  # fmt: skip
            raise RecveilError(f"{self.name}: {why or f'the token refused ({type(error).__name__})'}") from None
