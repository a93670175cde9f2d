"""recveil withdraw BUNDLE: a release that no longer stands, or that another one takes the place of."""

from typing import Annotated

from recveil.cli.arguments import EngineName, Json, Master, answer, say
from recveil.cli.decide import named
from recveil.cli.keys import signer_of
from recveil.errors import RecveilError
from recveil.options import Argument, Option


def withdraw(
    bundle: Annotated[str, Argument(metavar="BUNDLE", help="A bundle.")],
    as_: Annotated[str, Option("--as", metavar="NAME, ROLE", help="Who withdraws it.")],
    key: Annotated[str, Option(metavar="KEY", help="The key of the officer, or of the owner.")],
    reason: Annotated[str, Option(help="Why, in words that are published.")],
    superseded_by: Annotated[str | None, Option(metavar="BUNDLE", help="The bundle that takes its place.")] = None,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """Sign that a release no longer stands: `recveil verify` says so to everybody who has it, with exit code 3.

    Example: recveil withdraw out --as "Jane Roe, data protection officer" --key dpo.key --reason "A linkage was found"
    """
    from recveil.actions.engine import Engine
    from recveil.governance.decision import withdraw as sign

    name, role = named(as_)
    signer = signer_of(key)
    if signer is None:
        raise RecveilError("a withdrawal is signed: --key KEY")
    say(f"to be published word for word: {reason}")
    with Engine(engine, master).place(bundle) as place:
        made = sign(place, name, role, reason, signer, superseded_by)
    answer(made, [f"{made['kind']}: signed into {bundle}/claims.jsonl; give that file to all who have it"], as_json)
