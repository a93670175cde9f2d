"""recveil keys: the keys by which owner and officer sign."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Json, answer
from recveil.cli.commands import Group
from recveil.options import Argument, Option

if TYPE_CHECKING:
    from recveil.releases.signing import Signer

keys = Group("keys", "Make a key to sign with, or show whose a key is.")


def passphrase() -> str | None:
    """Of a key that has one: from the environment, or from the person at the terminal."""
    if "RECVEIL_PASSPHRASE" in os.environ:
        return os.environ["RECVEIL_PASSPHRASE"]
    if not sys.stdin.isatty():
        return None
    from getpass import getpass

    return getpass("Passphrase of the key: ")


def signer_of(key: str | None) -> Signer | None:
    """The key to sign with, opened before anything else is done."""
    if key is None:
        return None
    from recveil.releases.keys import load_key

    return load_key(key, passphrase)


@keys.adds()
def new(
    file: Annotated[str, Argument(metavar="FILE", help="Where the private key goes; it must not exist.")],
    locked: Annotated[
        bool, Option("--passphrase", help="Lock it with RECVEIL_PASSPHRASE, or with what you are asked for.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make an Ed25519 key that only you can read, and print its fingerprint.

    Example: recveil keys new owner.key
    """
    from recveil.releases.keys import new_key

    print_ = new_key(file, (passphrase() or "") if locked else None)
    lines = [print_, f"{file} is the private key: keep it to yourself. The fingerprint above is for everybody."]
    answer({"key": file, "fingerprint": print_}, lines, as_json)


@keys.adds()
def show(
    file: Annotated[str, Argument(metavar="FILE", help="A private key.")],
    as_json: Json = False,
) -> None:
    """Print the fingerprint of a key, for the trust files of others.

    Example: recveil keys show owner.key
    """
    from recveil.releases.keys import load_key

    print_ = load_key(file, passphrase).fingerprint
    answer({"key": file, "fingerprint": print_}, [print_], as_json)
