"""The ledger: what the releases about one population have spent, in a file that its owner names. No data in it.

One ledger belongs to one population: tomorrow's log holds the same people. Its lines and their chain are
hash_chain.py's. A line is entered under a lock before any noise is drawn; one that would exceed a budget is refused
before that. Budgets of noise that is Gaussian add up as rho (budget.py), and a pure epsilon is worth some rho
too, of a Gaussian or as zCDP; anything else adds up as epsilon and delta. docs/guarantees/ledger.md has the theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from datetime import date as day
from decimal import Decimal
from pathlib import Path
from typing import Any

from recveil.dp.budget import epsilon_of, epsilon_of_zcdp, rho_of_pure
from recveil.errors import RecveilError, unknown
from recveil.guarantee import IN_BUDGET, NEIGHBOURS, NOT_ON_RECORD, ON_DATA, Guarantee
from recveil.mechanism import Mechanism
from recveil.mechanisms import spec
from recveil.releases import hash_chain
from recveil.releases.aside import parts
from recveil.releases.hash_chain import read as read
from recveil.releases.release import Enter

CHOICE = "choice"  # the line of a noisy choice, in place of a mechanism
_FORMER = {  # other words that ledgers may hold for the same relations
    "add or remove one session with everything she did": NEIGHBOURS["session"],
    "add or remove one person with all her tags": NEIGHBOURS["user"],
    "add or remove one tag of one person on one item": NEIGHBOURS["record"],
    "two data sets that differ in whether one person has one item": NEIGHBOURS["bit"],
}
_SPARED = 1 + 1e-6  # older lines state a rho without the spare variance (dp/budget.py), which is less by less than that


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
        "date": now(),
        "mechanism": mechanism if isinstance(mechanism, str) else spec.text(mechanism),
        **{key: promise[key] for key in keys},
    }


def into(
    path: str | Path,
    *,
    outside: bool = False,
    note: Callable[[], str | None] = lambda: None,
    without: float = 0.0,
) -> Enter:
    """What enters a release in this ledger, before any of its noise is drawn: a refused attempt has spent too.

    Where a budget is set, a release that promises nothing is let in only with `outside`. `note` gives a fingerprint of
    the data, which is keyed with the ledger's key before it is written; `without`: the share of people set aside
    (aside.py), of whom the release holds nobody.
    """

    def enter(mechanism: Mechanism | str, guarantee: Guarantee) -> None:
        line = entry(mechanism, guarantee)
        if (print_ := note()) is not None:
            line["data"] = hash_chain.keyed(path, print_)
        if without:
            line["people"] = [without, 1.0]
        with hash_chain.locked(path) as chain:
            refuse(chain.entries, line, outside)
            chain.add(line)

    return enter


def look(path: str | Path | None, by: str, candidates: Sequence[str], note: Callable[[], str]) -> None:
    """Enter that figures are about to be computed on the private data, by which somebody may choose what to release.

    `note` gives a fingerprint of the data, which is keyed. Without a ledger nothing is on record.
    """
    if path:
        append(
            path, {"date": now(), "looked": by, "candidates": list(candidates), "data": hash_chain.keyed(path, note())}
        )


def chosen_on_data(path: str | Path | None, declared: bool = False) -> str:
    """Whether what is released was chosen on the data, by the ledger of their population and what its owner declares.

    Any look counts, whatever log it was at: a ledger is about one population, and an answer that asked for the same
    fingerprint would depend on every row, and be wiped out by one row more.
    """
    entries = read(path) if path else []
    if declared or any("looked" in e for e in entries):
        return ON_DATA
    return (
        IN_BUDGET if any(e.get("mechanism") == CHOICE and e["status"] == "proved" for e in entries) else NOT_ON_RECORD
    )


def append(path: str | Path, line: dict[str, Any]) -> None:
    """Add a line, whatever any budget says."""
    with hash_chain.locked(path) as chain:
        chain.add(line)


def set_budget(path: str | Path, budget: Budget, facts: dict[str, str]) -> None:
    """Enter a budget: the newest for a unit counts, and what was spent stays spent. `facts`: who, what data."""
    limits: dict[str, Any] = {"epsilon": budget.epsilon, "delta": budget.delta, "unit": budget.unit}
    if budget.until:
        limits["until"] = budget.until.isoformat()
    line = {"date": now(), "budget": limits, **facts}
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
    for part in parts([*group, line]):
        if part[-1] is not line or within(budget, part):
            continue
        before = part[:-1]
        spent = f"{Total(budget.unit, '', len(before), *_composed(before))}" if before else "nothing"
        raise RecveilError(
            f"{line['mechanism']} would exceed the ledger's budget ({budget}); spent so far: {spent}; "
            "nothing was drawn: ask for less, or have the budget raised with recveil ledger budget"
        )


def within(budget: Budget, group: list[dict[str, Any]]) -> bool:
    """Whether these lines together keep a budget, also if each was chosen after seeing what the others gave out.

    docs/guarantees/ledger.md has the theorem: one line alone; pure lines whose epsilons add up to it; or lines whose
    rhos do at one half of the budget's delta, the other half being for the chance that some rho does not hold. The
    first line, which was chosen before anything was given out, settles how: as Gaussian noise if it has a rho.
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
    fails = [e.get("rho_fails") or 0.0 if e["rho"] is not None else e["delta"] for e in group]
    half, together = budget.delta / 2, _as_zcdp if group[0]["rho"] is None else _as_gaussian
    return sum(fails) <= half * (1 + 1e-12) and together(group, half) <= budget.epsilon


def summary(path: str | Path) -> list[str]:
    """What all entries promise together, in words: a line for each unit, and what no line covers."""
    entries = read(path)
    found = totals(entries)
    lines = [f"{path}, in all: {total}" for total in found]
    lines += [f"{path}: the budget is {budget}" for budget in budgets(entries).values()]
    if len(found) > 1:
        units = ", ".join(dict.fromkeys(total.unit for total in found))
        lines.append(f"{path}: promises about different units ({units}) do not add up; no line covers the others")
    if looks := dict.fromkeys(e["looked"] for e in entries if "looked" in e):
        who = " and ".join(looks)
        lines.append(f"{path}: {who} looked at the data; no total covers what is chosen by such figures")
    if promising_nothing := unpromised(entries):
        who = "1 release promises" if promising_nothing == 1 else f"{promising_nothing} releases promise"
        lines.append(f"{path}: {who} nothing, and no total covers what was given away so")
    return lines


def registry(path: str | Path) -> dict[str, Any]:
    """A ledger as a public registry of deployments asks for it: who, what data, of whom, how much, how, when, proof."""
    entries = read(path)
    looks = [e for e in entries if "looked" in e]
    facts = {key: e[key] for e in entries for key in ("who", "about") if key in e}
    keys = ("date", "mechanism", "status", "epsilon", "delta", "rho", "unit", "neighbours", "proof", "data")
    return {
        "who": facts.get("who"),
        "about": facts.get("about"),
        "releases": [{key: e.get(key) for key in keys} for e in entries if "status" in e],
        "looks": [{key: e.get(key) for key in ("date", "looked", "candidates", "data")} for e in looks],
        "series": _continual(entries),
        "budgets": [e["budget"] | {"date": e["date"]} for e in entries if "budget" in e],
        "totals": [asdict(total) for total in totals(entries)],
        "promise_nothing": unpromised(entries),
    }


def _continual(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The periods of series: their promise is for all windows, however many of these have left."""
    windows = [(e["window"]["series"], e["window"]["period"]) for e in entries if "window" in e]
    keys = ("series", "period", "participations", "epsilon", "delta", "unit")
    return [{"release_model": "continual", **{key: e[key] for key in keys},
             "windows_left": windows.count((e["series"], e["period"]))} for e in entries if "series" in e]  # fmt: skip


def totals(entries: list[dict[str, Any]]) -> list[Total]:
    """For each unit and neighbouring relation, what the proved entries spend together on those on whom it is most.

    The smallest bound: epsilons and deltas add up; where all are worth a rho, rhos add up too, and give an epsilon at
    the largest delta.
    """
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for e in entries:
        if e.get("status") == "proved":
            kinds.setdefault((e["unit"], _FORMER.get(e["neighbours"], e["neighbours"])), []).append(e)
    return [max((Total(*kind, len(part), *_composed(part)) for part in parts(group)), key=lambda t: t.epsilon)
            for kind, group in kinds.items()]  # fmt: skip


def unpromised(entries: list[dict[str, Any]]) -> int:
    """Releases that promise nothing, so that no total bounds what they gave away; one with a seed is among them."""
    return sum(e["status"] != "proved" for e in entries if "status" in e)


def _composed(group: list[dict[str, Any]]) -> tuple[float, float]:
    epsilon, delta = sum(e["epsilon"] for e in group), sum(e["delta"] for e in group)
    largest = max(e["delta"] - (e.get("rho_fails") or 0.0) for e in group)
    if largest and all(e["rho"] is not None or not e["delta"] for e in group):
        together = min(_as_gaussian(group, largest), _as_zcdp(group, largest))
        if together <= epsilon:
            return together, largest + sum(e.get("rho_fails") or 0.0 for e in group)
    return epsilon, delta


def _as_gaussian(group: list[dict[str, Any]], delta: float) -> float:
    """The epsilon of all lines together, each as noise that is Gaussian, but for the chance that a rho fails."""
    rhos = [rho_of_pure(e["epsilon"]) if e["rho"] is None else e["rho"] * _SPARED for e in group]
    return epsilon_of(sum(rhos), delta)


def _as_zcdp(group: list[dict[str, Any]], delta: float) -> float:
    """The same, each as zCDP: where most lines are pure, this is less."""
    rhos = [e["epsilon"] ** 2 / 2 if e["rho"] is None else e["rho"] for e in group]
    return epsilon_of_zcdp(sum(rhos), delta)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
