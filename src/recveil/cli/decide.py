"""recveil decide BUNDLE: the officer's sheet, and her decision."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recveil.cli.arguments import EngineName, Json, Master, NoSeed, Owner, answer, say
from recveil.cli.keys import signer_of
from recveil.errors import RecveilError

if TYPE_CHECKING:
    from recveil.desk.decision import Context, Decider


def decide(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="A bundle.")],
    as_: Annotated[str | None, typer.Option("--as", metavar="NAME, ROLE", help="Who decides.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="The key of who decides.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Sign that it may go out.")] = False,
    refuse: Annotated[bool, typer.Option("--refuse", help="Sign that it may not.")] = False,
    recipient: Annotated[str, typer.Option(help="public, contractor, team, or a file of your own.")] = "public",
    until: Annotated[str | None, typer.Option(metavar="DATE", help="The last day of the approval.")] = None,
    condition: Annotated[list[str] | None, typer.Option(help="Words that are published with the decision.")] = None,
    purpose: Annotated[str, typer.Option(help="Why it is released; for the sheet alone.")] = "",
    contract: Annotated[str, typer.Option(help="Under which contract; for the sheet alone.")] = "",
    ledger: Annotated[str | None, typer.Option(metavar="FILE", help="Earlier releases about the same people.")] = None,
    owner: Owner = None,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
    seed: NoSeed = None,  # noqa: ARG001
) -> None:
    """Write the decision sheet of a bundle from what was measured; with --approve or --refuse, sign the decision.

    The sheet goes into the owner's folder. Only the decision itself is added to the bundle, as a signed claim.

    Example: recveil decide out --as "Jane Roe, data protection officer" --key dpo.key --approve --until 2027-11-15
    """
    from datetime import date

    from recveil.desk.decision import Context
    from recveil.desk.decision import decide as write
    from recveil.desk.engine import Engine
    from recveil.desk.owner import owner_folder
    from recveil.desk.recipients import read_recipient

    try:
        last = date.fromisoformat(until) if until else None
    except ValueError:
        raise RecveilError(f"--until is a day such as 2027-11-15, not {until!r}") from None
    conditions = tuple(text.strip() for text in condition or () if text.strip())
    context = Context(read_recipient(recipient), purpose, contract, last, conditions, ledger)
    decider = _decider(as_, key, approve, refuse)
    if decider:
        _warn(decider, context)
    with Engine(engine, master).place(bundle) as place:
        made = write(place, context, decider, owner_folder(place, owner))
    lines = [*made["sheet"]["verdict"]["sentences"], made["sheet"]["verdict"]["law"], f"the sheet: {made['files'][1]}"]
    lines.append(f"{made['folder']} stays with the owner; what may be published is {bundle} alone")
    if decider:
        lines.append(f"{decider.kind}: signed into {bundle}/claims.jsonl")
    answer(made, lines, as_json)


def _decider(as_: str | None, key: str | None, approve: bool, refuse: bool) -> Decider | None:
    from recveil.desk.decision import Decider

    if approve and refuse:
        raise RecveilError("--approve and --refuse exclude each other")
    if not (approve or refuse):
        if key or as_:
            raise RecveilError("a key signs a decision: say --approve or --refuse, or leave --key and --as out")
        return None
    if not as_ or key is None:
        raise RecveilError('a decision has a name and a key: --as "name, role" --key KEY')
    name, comma, role = (part.strip() for part in as_.partition(","))
    if not (name and comma and role):
        raise RecveilError(f'--as is a name and a role, such as "Jane Roe, data protection officer", not {as_!r}')
    signer = signer_of(key)
    return Decider(name, role, "approved" if approve else "refused", signer) if signer else None


def _warn(decider: Decider, context: Context) -> None:
    """What will be published in words is shown before it is signed; at a terminal it must be confirmed."""
    say(f"to be published and signed: {decider.kind} by {decider.name}, {decider.role}, for {context.recipient.title}")
    for words in context.conditions:
        say(f"to be published word for word: {words}")
    if context.conditions:
        say("warning: make sure that these words name nobody in the data and no figure that was measured on them")
    if sys.stdin.isatty() and not typer.confirm("Sign this?", err=True):
        raise RecveilError("nothing was signed")
