"""recveil ledger: what the releases about one population have spent, and how much they may."""

from typing import Annotated

from recveil.cli.arguments import Json, answer
from recveil.cli.commands import Group
from recveil.errors import RecveilError
from recveil.options import Option

ledger = Group("ledger", "Show a ledger, check that nobody changed it, set its budget.")
File = Annotated[str, Option("--ledger", metavar="FILE", help="The ledger of one population.")]


@ledger.adds()
def show(file: File = "ledger.jsonl", as_json: Json = False) -> None:
    """All releases of a ledger and what they add up to; --json has what a public registry asks for.

    Example: recveil ledger show --ledger shop.jsonl --json
    """
    from recveil.releases.ledger import registry, summary

    _there(file)
    found = registry(file)
    lines = [
        f"{r['date'][:10]}  {r['mechanism']}  {r['status']}"
        + (
            f", epsilon {r['epsilon']:g}, delta {r['delta']:g} for every {r['unit']}"
            if r["epsilon"] is not None
            else ""
        )
        for r in found["releases"]
    ]
    lines += [
        f"{e['date'][:10]}  {e['looked']} looked at the data: {', '.join(e['candidates'])}" for e in found["looks"]
    ]
    answer(found, lines + summary(file), as_json)


@ledger.adds()
def check(file: File = "ledger.jsonl", as_json: Json = False) -> None:
    """Prove that no line of a ledger was changed, removed or cut off. Exit code 3 where one was.

    Example: recveil ledger check --ledger shop.jsonl
    """
    from recveil.releases import hash_chain

    problems, remarks = hash_chain.check(file)
    lines = [f"{file}: {'changed' if problems else 'whole'}", *problems, *(f"remark: {r}" for r in remarks)]
    answer({"whole": not problems, "problems": problems, "remarks": remarks}, lines, as_json)
    if problems:
        raise SystemExit(3)


@ledger.adds()
def budget(
    epsilon: Annotated[float, Option(help="The most that all releases together may spend.")],
    delta: Annotated[float, Option(help="The same.")] = 0.0,
    unit: Annotated[str, Option(help="Of whom: user, session, record, tag, bit.")] = "user",
    until: Annotated[str | None, Option(metavar="DATE", help="The last day on which it may be spent.")] = None,
    who: Annotated[str | None, Option(help="Whose ledger it is, for ledger show.")] = None,
    about: Annotated[str | None, Option(help="What data it is about, for ledger show.")] = None,
    file: File = "ledger.jsonl",
    as_json: Json = False,
) -> None:
    """Set what the releases of a ledger may spend. The newest budget for a unit counts; spending is never reset.

    Example: recveil ledger budget --ledger shop.jsonl --epsilon 4 --delta 1e-6 --until 2027-11-15
    """
    from datetime import date

    from recveil.releases.ledger import Budget, set_budget, summary

    try:
        last = date.fromisoformat(until) if until else None
    except ValueError:
        raise RecveilError(f"--until is a day such as 2027-11-15, not {until!r}") from None
    wanted = Budget(epsilon, delta, unit, last)
    set_budget(file, wanted, {key: text for key, text in (("who", who), ("about", about)) if text})
    answer({"ledger": file, "budget": str(wanted)}, summary(file), as_json)


def _there(file: str) -> None:
    from pathlib import Path

    if not Path(file).exists():
        raise RecveilError(f"{file}: there is no such ledger; name it with --ledger FILE")
