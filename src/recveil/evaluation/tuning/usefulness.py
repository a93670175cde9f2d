"""--keep "lift>=0.7" or "skill>=0.7": the strongest protection that still teaches so much of what the data teach.

Lift is about lists, beyond popularity; skill about ratings, beyond items' averages.
A mechanism whose strength is one number is tried from its strongest value on; the first that keeps the bound with the
cautious end of its interval is refined towards the one before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.design import HeldOut, split
from recveil.evaluation.metrics.lift import ALL, lift
from recveil.evaluation.metrics.public_items import LIFT, public_items
from recveil.evaluation.metrics.skill import OWN, skill
from recveil.evaluation.metrics.tags import tags
from recveil.evaluation.recommenders import RANKERS
from recveil.evaluation.tuning import Progress, Tuned
from recveil.measurement import Measurement, Trial, attempt
from recveil.mechanisms import known_mechanisms
from recveil.mechanisms.spec import parse, text
from recveil.releases.catalogue import Catalogue
from recveil.releases.release import release

FORM = re.compile(r"\s*(lift|skill)\s*>=\s*([0-9]*\.?[0-9]+)(%?)\s*")
REFEREES = ("item-knn", "ease")
HOLDOUT = 0.2
REFINED = 2  # bisections between the last value that fails and the first that holds


@dataclass(frozen=True)
class UseBound:
    """What must still work, lift or skill, and how much of it."""

    what: str
    limit: float

    def __str__(self) -> str:
        return f"{self.what}>={self.limit:g}"


def usefulness_bound(keep: str | None) -> UseBound | None:
    """The bound in "lift>=0.7" or "skill>=70%"; None where it is about something else."""
    form = FORM.fullmatch(keep or "")
    return None if form is None else UseBound(form[1], float(form[2]) / (100 if form[3] else 1))


def tune_usefulness(
    data: Interactions,
    spec: str,
    bound: UseBound,
    seed: int | None,
    progress: Progress,
    catalogue: Catalogue | None = None,
) -> Tuned:
    """The spec with the strongest value of its strength that keeps the bound on these data."""
    what, limit = bound.what, bound.limit
    if not 0 < limit < 1:
        raise RecveilError(f"a {what} to keep lies between 0 and 1, as in {what}>=0.7, not {limit:g}")
    name, values = _strength(spec)
    first = parse(_with(spec, name, values[0]))
    parts = split(data, HOLDOUT, [seed or 0, 0], catalogue.features if catalogue else None)
    tried: dict[float, Measurement | str] = {}

    def keeps(value: float) -> bool:
        mechanism = replace(first, **{name: value})
        try:
            made = release(parts.train, mechanism, seed=seed or 0, catalogue=catalogue)
            found = MEASURES[what](parts.trial(made), seed or 0)
        except RecveilError as why:  # a refusal is an answer too: this much protection leaves nothing
            tried[value] = str(why)
            return False
        tried[value] = found
        return found.low >= limit

    held = None
    for number, value in enumerate(values):
        if keeps(value):
            held = number
            break
        progress(number + 1, len(values) + REFINED)
    if held is None:
        raise RecveilError(
            f"no {name} of {first.name} up to {values[-1]:g} keeps a {what} of {limit:g}: {_best(tried)}"
        )
    strong, weak = (values[held - 1] if held else values[0]), values[held]
    whole = isinstance(getattr(first, name), int)
    for step in range(REFINED if strong != weak and not whole else 0):
        middle = float(f"{np.sqrt(strong * weak):.2g}")
        if middle in tried:
            break
        strong, weak = (strong, middle) if keeps(middle) else (middle, weak)
        progress(len(values) + step + 1, len(values) + REFINED)
    _check_floor(tried[weak], bound)
    chosen = text(replace(first, **{name: weak}))
    alone = items_lift(parts, seed or 0) if what == "lift" else None
    *curve, says = _words(name, tried, weak, bound)
    lines = [*curve, *([control_line(alone)] if what == "lift" else []), says]
    found = _record(name, tried, weak, bound) | ({"public items": alone.record()} if alone else {})
    return Tuned(chosen, tuple(lines), found)


def items_lift(parts: HeldOut, seed: int) -> Measurement | None:
    """The lift of the file of items alone, for the same people; nothing where there is none, or lift is undefined."""
    subject = Trial(parts.train, parts.train, query=parts.query, result=parts.result, items=parts.items)
    referees = tuple(RANKERS[n] for n in REFEREES)
    found, _ = attempt(subject, "public-items", partial(public_items, referees=referees), seed)
    return next((m for m in found if m.name == LIFT and m.params["referee"] == ALL), None)


def control_line(alone: Measurement | None) -> str:
    """The row of the control, of the same people."""
    says = (
        "no file of items was given (--items)"
        if alone is None
        else f"{alone.value:.3f} [{alone.low:.3f}, {alone.high:.3f}]"
    )
    return f"public items, no private data: {says}"


def _strength(spec: str) -> tuple[str, tuple[float, ...]]:
    """The parameter that a mechanism's protection hangs on, and its values from the strongest to the weakest."""
    found = known_mechanisms()[spec.partition(":")[0]].strength
    if found is None:
        raise RecveilError(f"{spec.partition(':')[0]} has no single number that its protection hangs on")
    if re.search(rf"[:,]{found[0]}=", spec):
        raise RecveilError(f"{found[0]} is what is tuned; leave it out of {spec}")
    return found


def _with(spec: str, name: str, value: float) -> str:
    return f"{spec}{',' if ':' in spec else ':'}{name}={value:g}"


def _lift(subject: Any, seed: int) -> Measurement:
    """The lift of all referees together; of tags, that of the better referee."""
    rng = np.random.default_rng(seed)
    if subject.train.tags is not None:
        found = [m for m in tags(subject, rng) if m.name == "tag lift"]
    else:
        found = [m for m in lift(subject, rng, tuple(RANKERS[n] for n in REFEREES)) if m.name == "lift"]
        found = [m for m in found if m.params["referee"] == ALL] or found
    if not found:
        raise RecveilError("the data themselves do not for certain beat most-popular, so there is no lift to keep")
    return max(found, key=lambda m: m.value)


def _skill(subject: Any, seed: int) -> Measurement:
    """Of the predictor that is best on the real data; a person's own mean, which needs no release, stands beside it."""
    found = [m for m in skill(subject, np.random.default_rng(seed)) if m.params["referee"] != OWN]
    return found[0]


MEASURES = {"lift": _lift, "skill": _skill}


def _check_floor(kept: Measurement | str, bound: UseBound) -> None:
    """A bound that a person's own mean keeps without any release asks nothing of one."""
    floor = kept.chance if isinstance(kept, Measurement) else None
    if bound.what == "skill" and floor is not None and floor >= bound.limit:
        raise RecveilError(
            f"{bound} asks for no release at all: a person's own mean has a skill of {floor:.2f}; ask for more"
        )


def _best(tried: dict[float, Measurement | str]) -> str:
    measured = [m for m in tried.values() if isinstance(m, Measurement)]
    if not measured:
        return str(next(iter(tried.values())))
    best = max(measured, key=lambda m: m.value)
    return f"the best is {best.value:.3f} (from {best.low:.3f} to {best.high:.3f})"


def _words(name: str, tried: dict[float, Measurement | str], chosen: float, bound: UseBound) -> list[str]:
    """The curve, and what was found in a sentence: epsilon 2.6 keeps 70%; at 1 it would be 58%."""
    lines = [f"{name:>8}  {bound.what:>22}"]
    for value in sorted(tried):
        m = tried[value]
        cell = f"{m.value:.3f} [{m.low:.3f}, {m.high:.3f}]" if isinstance(m, Measurement) else "refused"
        lines.append(f"{value:>8g}  {cell:>22}")
    at = tried[chosen]
    says = f"{name} {chosen:g} keeps {at.value:.0%} of the {bound.what}" if isinstance(at, Measurement) else ""
    order = list(tried)
    stronger = [v for v in order if v != chosen and isinstance(m := tried[v], Measurement) and m.low < bound.limit]
    if stronger:
        other = tried[stronger[-1]]
        says += f"; at {stronger[-1]:g} it would be {other.value:.0%}" if isinstance(other, Measurement) else ""
    if bound.what == "skill" and isinstance(at, Measurement) and at.chance is not None:
        says += f"; a person's own mean, without any release, has {at.chance:.0%}"
    return [*lines, says]


def _record(name: str, tried: dict[float, Measurement | str], chosen: float, bound: UseBound) -> dict[str, Any]:
    curve = [
        {name: v, **({bound.what: m.record()} if isinstance(m, Measurement) else {"refused": m})}
        for v, m in sorted(tried.items())
    ]
    return {"bound": str(bound), "parameter": name, "value": chosen, "curve": curve}
