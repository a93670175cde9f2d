"""The ledger: what the releases about one population have spent, in a file that its owner names. No data in it.

One ledger belongs to one population: tomorrow's log holds the same people. Its lines and their chain are book.py's. A
line is entered under a lock before any noise is drawn; one that would exceed a budget is refused before that.
Budgets of noise that is Gaussian add up as rho (zCDP, budget.py); a pure epsilon is worth rho = epsilon^2 / 2 (Bun and
Steinke 2016, proposition 1.4); anything else adds up as epsilon and delta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from datetime import date as day
from decimal import Decimal
from pathlib import Path
from typing import Any

from recveil.desk import book
from recveil.desk.book import read as read
from recveil.desk.release import Enter
from recveil.dp.budget import epsilon_of
from recveil.errors import RecveilError, unknown
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.mechanism import Mechanism
from recveil.mechanisms import spec

_FORMER = {  # other words that ledgers may hold for the same relations
    "add or remove one session with everything she did": NEIGHBOURS["session"],
    "add or remove one person with all her tags": NEIGHBOURS["user"],
    "add or remove one tag of one person on one item": NEIGHBOURS["record"],
    "two data sets that differ in whether one person has one item": NEIGHBOURS["bit"],
}


@dataclass(frozen=True)
class Total:
    """What all entries about one unit promise together."""

    unit: str
    neighbours: str
    releases: int
    epsilon: float
    delta: float

    def __str__(self) -> str:
        together = "1 release" if self.releases == 1 else f"{self.releases} releases together"
        return f"epsilon {self.epsilon:.3g}, delta {self.delta:.3g} for every {self.unit} ({together})"


@dataclass(frozen=True)
class Budget:
    """How much may be spent on every `unit`, and until when."""

    epsilon: float
    delta: float = 0.0
    unit: str = "user"
    until: day | None = None

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < float("inf"):
            raise RecveilError(f"--epsilon of a budget must be finite and above 0, not {self.epsilon:g}")
        if not 0 <= self.delta < 1:
            raise RecveilError(f"--delta of a budget must lie in [0, 1), not {self.delta:g}")
        if self.unit not in NEIGHBOURS:
            raise unknown("--unit", self.unit, NEIGHBOURS)

    def __str__(self) -> str:
        ends = f", until {self.until}" if self.until else ""
        return f"epsilon {self.epsilon:g}, delta {self.delta:g} for every {self.unit}{ends}"


def entry(mechanism: Mechanism | str, guarantee: Guarantee) -> dict[str, Any]:
    """The line of a release: what it spends, when and by which mechanism, or what else was published."""
    promise = guarantee.record()
    keys = ("status", "epsilon", "delta", "rho", "unit", "neighbours", "proof", "rho_fails")
    return {
        "date": _now(),
        "mechanism": mechanism if isinstance(mechanism, str) else spec.text(mechanism),
        **{key: promise[key] for key in keys},
    }


def into(path: str | Path, *, outside: bool = False, note: Callable[[], str | None] = lambda: None) -> Enter:
    """What enters a release in this ledger, before any of its noise is drawn: a refused attempt has spent too.

    Where a budget is set, a release that promises nothing is let in only with `outside`. `note` gives a fingerprint of
    the data, which is keyed with the ledger's key before it is written.
    """

    def enter(mechanism: Mechanism | str, guarantee: Guarantee) -> None:
        line = entry(mechanism, guarantee)
        if (print_ := note()) is not None:
            line["data"] = book.keyed(path, print_)
        with book.locked(path) as open_book:
            refuse(open_book.entries, line, outside)
            open_book.add(line)

    return enter


def append(path: str | Path, line: dict[str, Any]) -> None:
    """Add a line, whatever any budget says."""
    with book.locked(path) as open_book:
        open_book.add(line)


def set_budget(path: str | Path, budget: Budget, facts: dict[str, str]) -> None:
    """Enter a budget: the newest for a unit counts, and what was spent stays spent. `facts`: who, what data."""
    limits: dict[str, Any] = {"epsilon": budget.epsilon, "delta": budget.delta, "unit": budget.unit}
    if budget.until:
        limits["until"] = budget.until.isoformat()
    line = {"date": _now(), "budget": limits, **facts}
    append(path, line)


def budgets(entries: list[dict[str, Any]]) -> dict[str, Budget]:
    """The newest budget for each unit."""
    found = {}
    for e in entries:
        if "budget" in e:
            until = e["budget"].get("until")
            found[e["budget"]["unit"]] = Budget(**{**e["budget"], "until": day.fromisoformat(until) if until else None})
    return found


def refuse(entries: list[dict[str, Any]], line: dict[str, Any], outside: bool) -> None:
    """Raise where a budget does not allow this line; nothing was drawn or written yet."""
    allowed = budgets(entries)
    if not allowed:
        return
    budget = allowed.get(line["unit"] or "")
    if line["status"] != "proved" or budget is None:
        if not outside:
            units = " and ".join(f"every {unit}" for unit in allowed)
            raise RecveilError(
                f"{line['mechanism']} promises nothing that the ledger's budget for {units} could count; "
                "release it with --outside-budget, or choose a mechanism that does"
            )
        return
    today = datetime.now(UTC).date()
    if budget.until and today > budget.until:
        raise RecveilError(f"the ledger's budget ended on {budget.until}; set another one with recveil ledger budget")
    group = [e for e in entries if e.get("status") == "proved" and e["unit"] == budget.unit]
    if not within(budget, [*group, line]):
        spent = f"{Total(budget.unit, '', len(group), *_composed(group))}" if group else "nothing"
        raise RecveilError(
            f"{line['mechanism']} would exceed the ledger's budget ({budget}); spent so far: {spent}; "
            "nothing was drawn: ask for less, or have the budget raised with recveil ledger budget"
        )


def within(budget: Budget, group: list[dict[str, Any]]) -> bool:
    """Whether these lines together keep a budget, also if each was chosen after seeing what the others gave out.

    docs/guarantees/ledger.md has the theorem: one line alone; pure lines whose epsilons add up to it; or lines whose
    rhos do at one half of the budget's delta, the other half being for the chance that some rho does not hold.
    """
    epsilon, delta = (sum(Decimal(str(e[key])) for e in group) for key in ("epsilon", "delta"))
    if (
        (len(group) == 1 or not delta)
        and epsilon <= Decimal(str(budget.epsilon))
        and delta <= Decimal(str(budget.delta))
    ):
        return True
    if not budget.delta:
        return False
    rhos = [e["rho"] if e["rho"] is not None else e["epsilon"] ** 2 / 2 for e in group]
    fails = [e.get("rho_fails") or 0.0 if e["rho"] is not None else e["delta"] for e in group]
    half = budget.delta / 2
    return sum(fails) <= half * (1 + 1e-12) and epsilon_of(sum(rhos), half) <= budget.epsilon


def summary(path: str | Path) -> list[str]:
    """What all entries promise together, in words: a line for each unit, and what no line covers."""
    entries = read(path)
    found = totals(entries)
    lines = [f"{path}, in all: {total}" for total in found]
    lines += [f"{path}: the budget is {budget}" for budget in budgets(entries).values()]
    if len(found) > 1:
        units = ", ".join(dict.fromkeys(total.unit for total in found))
        lines.append(f"{path}: promises about different units ({units}) do not add up; no line covers the others")
    if promising_nothing := unpromised(entries):
        lines.append(f"{path}: {promising_nothing} releases promise nothing, and no total covers what they gave away")
    return lines


def registry(path: str | Path) -> dict[str, Any]:
    """A ledger as a public registry of deployments asks for it: who, what data, of whom, how much, how, when, proof."""
    entries = read(path)
    facts = {key: e[key] for e in entries for key in ("who", "about") if key in e}
    keys = ("date", "mechanism", "status", "epsilon", "delta", "rho", "unit", "neighbours", "proof", "data")
    return {
        "who": facts.get("who"),
        "about": facts.get("about"),
        "releases": [{key: e.get(key) for key in keys} for e in entries if "status" in e],
        "budgets": [e["budget"] | {"date": e["date"]} for e in entries if "budget" in e],
        "totals": [asdict(total) for total in totals(entries)],
        "promise_nothing": unpromised(entries),
    }


def totals(entries: list[dict[str, Any]]) -> list[Total]:
    """For each unit and neighbouring relation, what the proved entries spend together: the smaller of two bounds.

    Epsilons and deltas add up. Where all have a rho, rhos add up too, and give an epsilon at the largest delta.
    """
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for e in entries:
        if e.get("status") == "proved":
            kinds.setdefault((e["unit"], _FORMER.get(e["neighbours"], e["neighbours"])), []).append(e)
    return [Total(*kind, len(group), *_composed(group)) for kind, group in kinds.items()]


def unpromised(entries: list[dict[str, Any]]) -> int:
    """Releases that promise nothing, so that no total bounds what they gave away."""
    return sum(e["status"] not in ("proved", "experiment") for e in entries if "status" in e)


def _composed(group: list[dict[str, Any]]) -> tuple[float, float]:
    epsilon, delta = sum(e["epsilon"] for e in group), sum(e["delta"] for e in group)
    rhos, fails = _rhos(group), _fails(group)
    largest = max(e["delta"] - (e.get("rho_fails") or 0.0) for e in group)
    if rhos is not None and largest:
        together = epsilon_of(sum(rhos), largest)
        if together <= epsilon:
            return together, largest + fails
    return epsilon, delta


def _rhos(group: list[dict[str, Any]]) -> list[float] | None:
    """What each line is worth as zCDP; None where one of them is not."""
    rhos = [e["rho"] if e["rho"] is not None else e["epsilon"] ** 2 / 2 if not e["delta"] else None for e in group]
    known = [rho for rho in rhos if rho is not None]
    return known if len(known) == len(group) else None


def _fails(group: list[dict[str, Any]]) -> float:
    """The chance that some rho does not hold."""
    return float(sum(e.get("rho_fails") or 0.0 for e in group))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
