"""shadow: was this person in the data? The attacker learns what the mechanism does with and without a person.

He runs the mechanism himself on halves of people whom he knows, measures the traces that each of them leaves in each
release (traces.py), and standardises them by what they come to where she is not in. A logistic regression over all
people and halves makes one score of them. Then he attacks releases that he did not learn from. Plan `pool`: he knows
everybody, but not who is in. Plan `strict`: he knows nothing of most people in the release that he attacks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Floats
from recveil.errors import RecveilError
from recveil.evaluation.attacks.membership import auc
from recveil.evaluation.attacks.roc import auc_between, mean_auc, pooled_tpr, ranked
from recveil.evaluation.attacks.traces import suspects, traces
from recveil.evaluation.attacks.verdict import measured
from recveil.measurement import Measurement, Shadows, SkippedError, Trial

RATES = (0.01, 0.001)
FOLDS = 4  # of whole complementary pairs
PSEUDO = 4  # observations that the pooled variance counts for
FLOOR = 0.25  # of the pooled variance: a trace that never varied may vary in the next release
CLIP = 6.0
KNEES = (1.5, 4.0)  # where a standardised trace counts more
LESSONS = 80_000  # pairs of a person and a release that the score is learnt from
PENALTY = 1.0
FEWEST_PEOPLE = 20

Inside = NDArray[np.bool_]


def shadow(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """Of each set of shadows: AUC, true positive rates at 1% and 0.1%; beside a ceiling, what the guarantee bounds.

    control: people who are not in the attacked release, called members where they are in one that was learnt from.
    """
    if not trial.shadows:
        raise SkippedError("shadow needs releases of halves of the data to learn from: ask for some with --shadows 32")
    return [m for given in trial.shadows for m in _attacked(given, rng)]


def check(shadows: int, people: int) -> None:
    """Raise where so many shadows cannot be learnt from, or not of so few people."""
    if shadows < 2 * FOLDS or shadows % 2:
        raise SkippedError(f"shadows come in pairs, at least {2 * FOLDS} of them, not {shadows}; 32 give the number")
    fewest = max(FEWEST_PEOPLE, shadows)
    if people < fewest:
        raise SkippedError(f"{people} people are too few for {shadows} shadows: it takes {fewest}, or fewer shadows")


def _attacked(given: Shadows, rng: np.random.Generator) -> list[Measurement]:
    check(given.learnt, len(given.people))
    found, refused = collect(given)
    scores, own = score(found, given.inside, given.learnt, rng)
    inside = given.inside[given.learnt :]
    params: dict[str, Any] = {"plan": given.plan, "target": given.target, "shadows": given.learnt}
    notes = [given.note] if given.note else []
    if refused:
        notes.append(f"the mechanism refused {refused} of {len(given.inside)} releases, and that counts as a trace")
    if len(scores) == 1:
        notes.append("one release: the interval is over people alone")
    note = "; ".join(notes)
    placebo = Placebo(scores, inside, given.inside[: given.learnt])
    value, low, high = mean_auc(scores, inside, rng)
    if high - low < 1e-9:  # a bootstrap of perfect separation is blind
        low, high = auc(scores[0][inside[0]], scores[0][~inside[0]])[1:]
        low, high = min(low, value), max(high, value)
    told = measured(
        "shadow-auc",
        (value, low, high),
        scores.shape[1],
        chance=0.5,
        control=placebo.auc(),
        params=params if given.ceiling is None else {**params, "ceiling": round(given.ceiling, 4)},
        note=note,
    )
    rows = [told]
    if given.ceiling is not None and len(scores) > 1:
        rows.append(_between(scores, inside, given.ceiling, params, rng))
    for fpr in RATES:
        estimate = pooled_tpr(scores, inside, fpr, rng)
        if estimate is None:
            continue
        control = placebo.tpr(fpr)
        real = realised(scores[~inside], own[~given.inside[: given.learnt]], fpr)
        words = f"the threshold learnt from the shadows names {real:.2%} of the outsiders" + (note and f"; {note}")
        row = {**params, "fpr": fpr}
        rows.append(measured("shadow-tpr", estimate, inside.size, chance=fpr, control=control, params=row, note=words))
    return rows


def collect(given: Shadows) -> tuple[Floats, int]:
    """traces[release, person, trace], NaN where the mechanism refused; and how often it did."""
    found: list[Floats | None] = []
    of, reason = None, ""
    for number in range(len(given.inside)):
        try:
            released = given.made(number)
        except SkippedError:
            raise
        except RecveilError as why:  # a refusal is an output
            reason = reason or str(why)
            found.append(None)
            continue
        if of is None:
            of = suspects(given.population, given.people, released.time is not None)
        found.append(traces(of, released))
    refused = sum(f is None for f in found)
    width = next((f.shape[1] for f in found if f is not None), 0)
    if sum(f is not None for f in found[: given.learnt]) < len(found[: given.learnt]) / 2 or not width:
        raise SkippedError(f"refused {refused} of {len(found)} halves, too few are left to learn from: {reason}")
    empty = np.full((len(given.people), width), np.nan)
    table = np.stack([empty if f is None else f for f in found])
    if not refused:
        return table, 0
    sign = np.isnan(table[:, :, :1]).astype(np.float64)  # that it refused is a trace as well
    return np.concatenate([table, sign], axis=2), refused


def score(found: Floats, inside: Inside, learnt: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """scores[release, person] of the attacked releases, and of those learnt from, standardised out of fold."""
    lessons = np.empty_like(found[:learnt])
    fold = np.arange(learnt) // 2 % FOLDS
    for number in range(FOLDS):
        here = fold == number
        lessons[here] = _standard(found[:learnt][here], found[:learnt][~here], inside[:learnt][~here])
    chosen = rng.permutation(learnt * found.shape[1])[:LESSONS]
    flat = lessons.reshape(-1, found.shape[2])
    law = kernels.logistic.fit(_bent(flat[chosen]), inside[:learnt].ravel()[chosen], PENALTY)
    own = law.score(_bent(flat)).reshape(learnt, -1)
    attacked = _standard(found[learnt:], found[:learnt], inside[:learnt])
    return law.score(_bent(attacked.reshape(-1, found.shape[2]))).reshape(len(found) - learnt, -1), own


def _standard(found: Floats, shadows: Floats, inside: Inside) -> Floats:
    """Each trace by its mean and spread over the shadows that the person is not in.

    One person's variance rests on few releases: it is drawn towards that of all, and never below a part of it.
    """
    outside = ~inside[:, :, None] & np.isfinite(shadows)
    n = outside.sum(axis=0)
    values = np.where(outside, shadows, 0.0)
    mean = values.sum(axis=0) / np.maximum(n, 1)
    squares = np.where(outside, (shadows - mean) ** 2, 0.0).sum(axis=0)
    freedom = np.maximum(n - 1, 0)
    pooled = squares.sum(axis=0) / np.maximum(freedom.sum(axis=0), 1)
    variance = (squares + PSEUDO * pooled) / (freedom + PSEUDO)
    variance = np.maximum(variance, FLOOR * pooled) * (1 + 1 / np.maximum(n, 1))
    deviation = np.maximum(np.sqrt(variance), 1e-9)
    return np.asarray(np.nan_to_num((found - mean) / deviation, nan=0.0))


def _bent(standard: Floats) -> Floats:
    """The basis of the score: each trace, and what of it lies beyond the knees."""
    clipped = np.clip(standard, -CLIP, CLIP)
    return np.concatenate([clipped, *(np.maximum(clipped - knee, 0.0) for knee in KNEES)], axis=1)


class Placebo:
    """People who are in none of the releases that they are scored by, called members by another coin.

    It is the coin that put them into a release that was learnt from: had the score learnt who was in it, that would
    show. Of two complementary ones one is asked, and the mean over all steadies the figure.
    """

    def __init__(self, scores: Floats, inside: Inside, learnt: Inside) -> None:
        outside = ~inside
        whole = ranked(scores[outside], outside[outside])
        person = np.nonzero(outside)[1]
        self.each = [replace(whole, inside=coin[person]) for coin in learnt[::2]]
        self.weight = np.ones(len(person))

    def auc(self) -> float:
        return float(np.mean([one.auc(self.weight) for one in self.each]))

    def tpr(self, fpr: float) -> float:
        return float(np.mean([one.tpr(self.weight, fpr) for one in self.each]))


def _between(
    scores: Floats, inside: Inside, ceiling: float, params: dict[str, Any], rng: np.random.Generator
) -> Measurement:
    """What the guarantee bounds, beside its ceiling."""
    estimate = auc_between(scores, inside, rng)
    below = estimate[1] <= ceiling
    note = "below the ceiling of the guarantee" if below else "ABOVE the ceiling of the guarantee: it does not hold"
    row = {**params, "ceiling": round(ceiling, 4)}
    return measured("shadow-auc-between", estimate, scores.shape[1], chance=0.5, control=0.5, params=row, note=note)


def breaches(found: list[Measurement]) -> list[Measurement]:
    """Those whose whole interval, over people and releases, lies above what a proved guarantee allows."""
    return [m for m in found if m.name == "shadow-auc-between" and m.low > m.params["ceiling"]]


def realised(outside: Floats, own_outside: Floats, fpr: float) -> float:
    """The share of outsiders in the attacked releases above the threshold that the shadows set: is it calibrated?"""
    return float(np.mean(outside > np.quantile(own_outside, 1 - fpr)))
