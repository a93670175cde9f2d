"""recveil decide BUNDLE: the officer's sheet, and her decision."""

from __future__ import annotations

import sys
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import click

from recveil.cli.arguments import EngineName, Json, Master, Owner, answer, say
from recveil.cli.keys import signer_of
from recveil.errors import RecveilError
from recveil.options import Argument, Option

if TYPE_CHECKING:
    from recveil.governance.context import Context
    from recveil.governance.decision import Decider


def decide(
    bundle: Annotated[str, Argument(metavar="BUNDLE", help="A bundle.")],
    as_: Annotated[str | None, Option("--as", metavar="NAME, ROLE", help="Who decides.")] = None,
    key: Annotated[str | None, Option(metavar="KEY", help="The key of who decides.")] = None,
    approve: Annotated[bool, Option("--approve", help="Sign that it may go out.")] = False,
    refuse: Annotated[bool, Option("--refuse", help="Sign that it may not.")] = False,
    recipient: Annotated[str, Option(help="public, contractor, team, or a file of your own.")] = "public",
    until: Annotated[str | None, Option(metavar="DATE", help="The last day of the approval.")] = None,
    condition: Annotated[list[str] | None, Option(help="Words that are published with the decision.")] = None,
    reason: Annotated[
        str, Option(help="Why, published with the decision; needed where the evidence does not speak for it.")
    ] = "",
    sheet: Annotated[
        str, Option(metavar="DIGEST", help="The sheet that was read; else the one in the owner's folder.")
    ] = "",
    purpose: Annotated[str, Option(help="Why it is released; for the sheet alone.")] = "",
    contract: Annotated[str, Option(help="Under which contract; for the sheet alone.")] = "",
    words: Annotated[
        str | None,
        Option("--context", metavar="FILE", help="Controller, legal basis, review, wish, limits: a TOML file."),
    ] = None,
    opinion: Annotated[str, Option(help="The officer's own words; for the sheet alone.")] = "",
    trust: Annotated[
        str | None, Option(metavar="FILE", help="Whose key counts: the key must be an officer's in it.")
    ] = None,
    ledger: Annotated[str | None, Option(metavar="FILE", help="Earlier releases about the same people.")] = None,
    owner: Owner = None,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """Write the decision sheet of a bundle from what was measured; with --approve or --refuse, sign the decision.

    First without: read the sheet, which goes into the owner's folder. Then with the same recipient and purpose: what
    is signed is the sheet that was read. Only the decision is added to the bundle: a claim, which its card repeats.

    Example: recveil decide out --as "Jane Roe, data protection officer" --key dpo.key --approve --until 2027-11-15
    """
    from datetime import date

    from recveil.actions.engine import Engine
    from recveil.governance.context import Context, read_context
    from recveil.governance.decision import decide as write
    from recveil.governance.owner import owner_folder
    from recveil.governance.recipients import read_recipient
    from recveil.governance.trust import read_trust

    try:
        last = date.fromisoformat(until) if until else None
    except ValueError:
        raise RecveilError(f"--until is a day such as 2027-11-15, not {until!r}") from None
    conditions = tuple(text.strip() for text in condition or () if text.strip())
    said = read_context(words) if words else {}
    context = Context(read_recipient(recipient), purpose, contract, last, conditions, ledger, **said)
    decider = _decider(as_, key, approve, refuse)
    if decider:
        known = read_trust(trust) if trust else None
        decider = replace(decider, reason=reason.strip(), seen=sheet.strip().lower(), opinion=opinion, trust=known)
    elif reason or sheet or opinion:
        raise RecveilError("--reason, --sheet and --opinion belong to a decision: say --approve or --refuse")
    if decider:
        _warn(decider, context)
    with Engine(engine, master).place(bundle) as place:
        made = write(place, context, decider, owner_folder(place, owner))
    lines = [*made["sheet"]["verdict"]["sentences"], made["sheet"]["verdict"]["law"], f"the sheet: {made['files'][1]}"]
    lines.append(f"its digest: {made['digest']}")
    lines.append(f"{made['folder']} stays with the owner; what may be published is {bundle} alone")
    lines += _next(bundle, made["sheet"], context, decider)
    if decider:
        lines.append(f"{decider.kind}: signed into {bundle}/claims.jsonl")
    answer(made, lines, as_json)


def _next(bundle: str, sheet: dict[str, Any], context: Context, decider: Decider | None) -> list[str]:
    """What is still to be typed: the measurements that are missing, then the decision."""
    if decider:
        return []
    if not sheet["measured"]:
        measured = f"recveil measure DATA {quote(bundle)} --holdout held.parquet --keep"
        return [
            "next, so that there is evidence to decide on:",
            f"    {measured}",
            f"    recveil decide {quote(bundle)}",
        ]
    to = "" if context.recipient.name == "public" else f" --recipient {quote(context.recipient.name)}"
    purpose = f" --purpose {quote(context.purpose)}" if context.purpose else ""
    signed = '--as "NAME, ROLE" --key officer.key'
    why = "" if sheet["verdict"]["outcome"] == "for" else ' --reason "WHY"'
    return [
        "next, once the sheet is read (--refuse in place of --approve):",
        "    recveil keys new officer.key",
        f"    recveil decide {quote(bundle)}{to}{purpose} {signed} --approve{why}",
    ]


def _decider(as_: str | None, key: str | None, approve: bool, refuse: bool) -> Decider | None:
    from recveil.governance.decision import Decider

    if approve and refuse:
        raise RecveilError("--approve and --refuse exclude each other")
    if not (approve or refuse):
        if key or as_:
            raise RecveilError("a key signs a decision: say --approve or --refuse, or leave --key and --as out")
        return None
    if not as_ or key is None:
        raise RecveilError('a decision has a name and a key: --as "name, role" --key KEY')
    name, role = named(as_)
    signer = signer_of(key)
    return Decider(name, role, "approved" if approve else "refused", signer) if signer else None


def named(as_: str) -> tuple[str, str]:
    """Who signs, and in which role."""
    name, comma, role = (part.strip() for part in as_.partition(","))
    if not (name and comma and role):
        raise RecveilError(f'--as is a name and a role, such as "Jane Roe, data protection officer", not {as_!r}')
    return name, role


def _warn(decider: Decider, context: Context) -> None:
    """What will be published in words is shown before it is signed; at a terminal it must be confirmed."""
    say(f"to be published and signed: {decider.kind} by {decider.name}, {decider.role}, for {context.recipient.title}")
    said = (*context.conditions, *([decider.reason] if decider.reason else []))
    for words in said:
        say(f"to be published word for word: {words}")
    if said:
        say("warning: make sure that these words name nobody in the data and no figure that was measured on them")
    if sys.stdin.isatty() and not click.confirm("Sign this?", err=True):
        raise RecveilError("nothing was signed")
