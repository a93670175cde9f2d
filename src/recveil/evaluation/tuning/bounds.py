"""--keep BOUND: a ladder of parameters from the weakest masking to the strongest, measured rung by rung.

Bounds on what the release is worth (agreement>=0.8) ask for the strongest rung that keeps them; bounds on what an
attacker may do (linkage@8<=0.1, hiding>=0.5) for the weakest. A rung keeps a bound if the cautious end of its interval
does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.evaluation.attacks.linkage import linkage
from recveil.evaluation.metrics.challenge import challenge
from recveil.evaluation.metrics.hiding import hiding
from recveil.evaluation.tuning import Progress, Tuned
from recveil.measurement import Measurement, SkippedError, Trial, trial
from recveil.mechanism import Mechanism
from recveil.mechanisms.spec import parse, text
from recveil.releases.release import release

SEED = 1  # of the trial releases: they are thrown away
KNOWN = 8
_WORTH = {"agreement"}  # the others bound what an attacker may do
_NAMES = ("agreement", "hiding", "linkage")
_FORM = re.compile(r"\s*([a-z]+)(?:@(\d+))?\s*(>=|<=)\s*(-?[0-9.]+)\s*")


@dataclass(frozen=True)
class MeasuredBound:
    name: str
    least: bool  # >=, else <=
    limit: float
    known: int = KNOWN  # items that the attacker knows

    def __str__(self) -> str:
        at = f"@{self.known}" if self.name == "linkage" else ""
        return f"{self.name}{at}{'>=' if self.least else '<='}{self.limit:g}"

    def kept(self, found: Measurement) -> bool:
        return found.low >= self.limit if self.least else found.high <= self.limit


def parse_bound(bound: str) -> MeasuredBound:
    """A bound such as agreement>=0.8, hiding>=0.5 or linkage@8<=0.1."""
    form = _FORM.fullmatch(bound)
    try:
        if form is None:
            raise ValueError(bound)
        name, known, sign, limit = form[1], form[2], form[3], float(form[4])
    except ValueError:
        raise RecveilError(f"a bound is written as agreement>=0.8 or linkage@8<=0.1, not {bound!r}") from None
    if name not in _NAMES:
        raise unknown("bound", name, _NAMES)
    if (sign == ">=") == (name == "linkage"):
        raise RecveilError(f"{name} is bounded by {'<=' if name == 'linkage' else '>='}, not {sign}")
    if known and (name != "linkage" or int(known) < 1):
        raise RecveilError(f"@{known} says how many items an attacker knows: linkage@8")
    return MeasuredBound(name, sign == ">=", limit, int(known or KNOWN))


def tune_bound(data: Interactions, spec: str, keep: str | None, seed: int | None, progress: Progress) -> Tuned:
    """Measure every rung, and name the one that keeps the bound."""
    first: Any = parse(spec)
    if keep is None:
        raise RecveilError(f"{first.name} is tuned to a bound: give one, such as --keep 'agreement>=0.8'")
    bound = parse_bound(keep)
    rungs = first.rungs(data)
    parameter = next(f.name for f in fields(first) if len({getattr(rung, f.name) for rung in rungs}) > 1)
    values = tuple(getattr(rung, parameter) for rung in rungs)
    curve: list[dict[str, Measurement]] = []
    for number, mechanism in enumerate(rungs):
        curve.append(_measured(data, mechanism, bound.known, SEED if seed is None else seed))
        progress(number + 1, len(rungs))
    if bound.name not in curve[0]:
        raise RecveilError(f"{bound.name} cannot be measured on these data with {first.name}")
    order = range(len(rungs))
    holds = [at for at in (reversed(order) if bound.name in _WORTH else order) if bound.kept(curve[at][bound.name])]
    names = list(curve[0])
    table = [f"{parameter:>8}  " + "  ".join(f"{name:>22}" for name in names)]
    for value, found in zip(values, curve, strict=True):
        cells = (f"{m.value:.3f} [{m.low:.3f}, {m.high:.3f}]" for m in found.values())
        table.append(f"{value:>8g}  " + "  ".join(f"{cell:>22}" for cell in cells))
    if not holds:
        best = max(curve, key=lambda f: f[bound.name].value * (1 if bound.least else -1))[bound.name]
        raise RecveilError(
            f"no {parameter} of {first.name} keeps {bound}: the best is {best.value:.3f} "
            f"(from {best.low:.3f} to {best.high:.3f})"
        )
    chosen = text(rungs[holds[0]])
    which = "strongest" if bound.name in _WORTH else "weakest"
    lines = [
        *table,
        f"{chosen} is the {which} of these that keeps {bound} with its whole interval",
        "the choice was made on the true data, and no guarantee covers that; keep the curve to yourself",
    ]
    points = [
        {parameter: value, **{name: m.record() for name, m in found.items()}}
        for value, found in zip(values, curve, strict=True)
    ]
    tried: dict[str, Any] = {"bound": str(bound), "parameter": parameter, "curve": points}
    return Tuned(chosen, tuple(lines), tried, lambda: _chart(parameter, values, curve, rungs[holds[0]]))


def _measured(data: Interactions, mechanism: Any, known: int, seed: int) -> dict[str, Measurement]:
    made = release(data, mechanism, seed=seed)
    subject = trial(data, made.data, id_map=made.id_map)
    rng = np.random.default_rng(seed)
    found = {m.name: m for m in hiding(subject, rng) if m.name == "hiding"}
    rmses = []
    try:
        judged = challenge(subject, rng)
    except SkippedError:
        judged = []
    for m in judged:
        if m.name == "challenge":
            found["agreement"] = m
        elif m.params["trained_and_tested_on"] == "release":
            rmses.append(m)
    if rmses:
        found["rmse"] = min(rmses, key=lambda m: m.value)
    found["linkage"] = _linked(subject, known, mechanism.trusted(data), rng)
    return found


def _linked(subject: Trial, known: int, trusted: pl.Series | None, rng: np.random.Generator) -> Measurement:
    """The better of two attackers: one who knows items alone, one who knows ratings (of the items that kept them)."""
    ways = [False] if subject.released.rating is None else [False, True]
    found = [
        linkage(subject, rng, known=[known], ratings=way, attackers=("intersection",), theta=None, trusted=trusted)[0]
        for way in ways
    ]
    return max(found, key=lambda m: m.value)


def _chart(parameter: str, values: tuple[float, ...], curve: list[dict[str, Measurement]], chosen: Mechanism) -> Any:
    import altair as alt

    panels = []
    x = alt.X("x:Q", title=parameter)
    rule = alt.Chart(alt.Data(values=[{"x": getattr(chosen, parameter)}])).mark_rule(strokeDash=[4, 3])
    for name in curve[0]:
        rows = [
            {"x": at, "y": f[name].value, "low": f[name].low, "high": f[name].high}
            for at, f in zip(values, curve, strict=True)
        ]
        plot = alt.Chart(alt.Data(values=rows))
        y = alt.Y("y:Q", title=name, scale=alt.Scale(zero=False))
        band = plot.mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title=name), y2="high:Q")
        panels.append(
            (band + plot.mark_line(point=True).encode(x=x, y=y) + rule.encode(x=x)).properties(width=420, height=120)
        )
    return alt.vconcat(*panels).properties(title=text(chosen))
