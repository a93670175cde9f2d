"""An audit of the advisor's public counters: has every average that a watcher can form the noise that is stated for it?
What is watched is the server's own noise, look after look, while the catalogue grows by an item a look."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from recveil.advisor import counter_noise
from recveil.advisor.noisy_counters import CounterBudget
from recveil.dp import continual
from recveil.evaluation.attacks.epsilon import EpsilonBound, judge

DOUBT = 1e-6  # the chance that honest noise is called broken, for each average


def watched(budget: CounterBudget, items: int, key: bytes) -> Any:
    """Noise of likes and dislikes of the first items, at every look: signs x looks x items."""
    year = {"key": key, "looks": budget.looks, "variance": budget.variances()[0]}
    found = np.zeros((2, budget.looks, items))
    sums = None
    for done in range(budget.looks):
        sums = counter_noise.advance(sums, year, done + 1, 0, items + done)
        found[:, done] = counter_noise.noise(sums, budget.looks)[:, :items]
    return found


def factors(looks: int) -> tuple[Any, Any]:
    """R and L as dense matrices."""
    place = np.subtract.outer(np.arange(looks), np.arange(looks))
    return tuple(  # type: ignore[return-value]
        np.where(place >= 0, column[np.maximum(place, 0)], 0.0)
        for column in (continual.weights(looks).astype(float), continual.answers(looks))
    )


def averages(noise: Any, budget: CounterBudget) -> dict[str, tuple[Any, float]]:
    """What a watcher forms, and the variance that the theorem states: over looks, signs and neighbouring items."""
    looks, (_, L) = budget.looks, factors(budget.looks)
    over = {
        "the mean of all looks": np.full(looks, 1 / looks),
        "the first look": np.eye(looks)[0],
        "the last look": np.eye(looks)[-1],
        "a step": np.eye(looks)[looks // 2] - np.eye(looks)[looks // 2 - 1],
    }
    found: dict[str, tuple[Any, float]] = {}
    for name, w in over.items():
        each = float(np.sum((L.T @ w) ** 2)) * budget.variances()[0]
        likes, dislikes = (np.tensordot(w, noise[sign], 1) for sign in (0, 1))
        found |= {
            f"{name}, likes": (likes, each),
            f"{name}, dislikes": (dislikes, each),
            f"{name}, likes less dislikes": (likes - dislikes, 2 * each),
            f"{name}, likes and dislikes": (likes + dislikes, 2 * each),
            f"{name}, an item less the next": (likes[:-1:2] - likes[1::2], 2 * each),
        }
    return found


def verdict(noise: Any, budget: CounterBudget) -> str:
    """holds, or broken and by which average: one that has less noise than stated."""
    for name, (values, variance) in averages(noise, budget).items():
        if float(np.sum(values**2)) / variance < chi2.ppf(DOUBT, len(values)):
            return f"broken: {name}"
    return "holds"


def told_apart(noise: Any, budget: CounterBudget) -> EpsilonBound:
    """Half of the items get a dislike at the first look, the others none: how well can they be told apart?"""
    R, _ = factors(budget.looks)
    seen = noise[1].T.copy()
    seen[::2] += 1
    mean, likelihood = seen.mean(1), seen @ (R.T @ (R @ np.ones(budget.looks)))
    both = np.column_stack([mean, likelihood / np.abs(likelihood).max()])
    names = ["the mean of all looks", "likelihood"]
    return judge(both[::2], both[1::2], names, delta=budget.delta, confidence=0.95)
