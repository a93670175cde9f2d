"""What lies behind noisy loadings and moments of a space of items: post-processing alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil.mechanisms.dp_streams.space import conjugate

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

_RIDGE = (1.0, 2.0)  # of the second moments, in shares of their mean, of few items and of many
_FLOOR = 0.1  # likewise, below which none of them lies
WHOLE = 4096  # items up to which a table of all pairs is drawn from; of more, each has its nearest alone
_OWN, _STEPS = 0.05, 6  # by how much items differ of their own, to begin with, and steps toward what the tables tell
_CLASSES = 8  # of items by popularity


@dataclass(frozen=True)
class SpaceTables:
    """Published tables in a space of items, in units of one person. `paired`: the items of which pairs were counted."""

    facts: Any  # items x features, sparse
    vectors: Singles
    have: Floats  # how many have an item, a person with s items counting 1 / sqrt(s)
    moments: Floats
    loadings: Floats
    paired: Ints
    people: float
    moment_sigma: float
    loading_sigma: Any  # a number, or one for each item


@dataclass(frozen=True)
class Tastes:
    """Second moments of people's places, and for each item the mean place of those who have it, by its other items."""

    moments: Floats
    firm: Floats  # the same with a ridge: its inverse does not raise noise
    mean: Floats


def tastes(known: SpaceTables) -> Tastes:
    """De-noised: moments toward equal ones, means toward what vectors and features tell of them, then by themselves."""
    n, d = known.vectors.shape
    values, axes = np.linalg.eigh(known.moments / known.people)
    level, noise = max(float(values.mean()), 1e-9), (known.moment_sigma / known.people) ** 2 * (d + 1) / 2
    signal = max(float(((values - level) ** 2).mean()) - noise, 0.0)
    values = np.maximum(level + (values - level) * (signal / max(signal + noise, 1e-300)), _FLOOR * level)
    have = np.maximum(known.have, 1e-6)
    seen, noises = (known.loadings @ axes) / have[:, None], known.loading_sigma**2 / have**2
    design = np.hstack([np.ones((n, 1)), known.vectors @ axes])
    law = OwnLaw(np.diag(values**2 * (_OWN / float((values**2).sum()))), np.ones(n))
    differs, ridge = np.full(n, 0.09 / d), _RIDGE[n > WHOLE]
    parts = np.array_split(np.argsort(-have, kind="stable"), _CLASSES)
    for _ in range(2):
        weight = 1 / (differs + noises)
        prior = _told(design, seen, weight, 0.3 * (values + ridge * level))
        prior += _told_by_features(known.facts, seen - prior, weight)
        if n > WHOLE:
            own, differs = _own_by_axis(seen - prior, noises, parts)
        else:
            own, law = _own(seen - prior, noises, law, parts)
            differs = law.size * float(np.trace(law.shape)) / d
    firm = values + ridge * level
    return Tastes((axes * values) @ axes.T, (axes * firm) @ axes.T, (prior + own) @ axes.T)


@dataclass(frozen=True)
class OwnLaw:
    """How items differ from what is told of them: normal, with the covariance size * shape."""

    shape: Floats
    size: Floats  # of each item


def _own_by_axis(rest: Floats, noises: Floats, parts: list[Ints]) -> tuple[Floats, Floats]:
    """What lies behind noisy differences of very many items, axis by axis, and how much items differ, on average."""
    own, differs = np.zeros_like(rest), np.zeros(len(rest))
    for part in parts:
        sure = 1 / noises[part][:, None]
        spread = np.maximum(((rest[part] ** 2 * sure**2).sum(0) - sure.sum()) / (sure**2).sum(), 1e-6)
        own[part] = rest[part] * (spread * sure / (spread * sure + 1))
        differs[part] = spread.mean()
    return own, differs


def _own(rest: Floats, noises: Floats, law: OwnLaw, parts: list[Ints]) -> tuple[Floats, OwnLaw]:
    """What lies behind noisy differences, and their law, by expectation and maximisation; parts: of like size."""
    size = law.size.copy()
    values, axes = np.linalg.eigh(law.shape)
    for step in range(_STEPS + 1):
        values = np.maximum(values, 1e-9)
        spread = size[:, None] * values
        kept = spread / (spread + noises[:, None])
        mean = (rest @ axes) * kept
        if step == _STEPS:
            break
        open_ = spread * (1 - kept)
        square = ((mean / size[:, None]).T @ mean + np.diag((open_ / size[:, None]).sum(0))) / len(rest)
        for part in parts:
            size[part] = max(float(((mean[part] ** 2 + open_[part]) / values).mean()), 1e-4) if len(part) else 1.0
        values, turned = np.linalg.eigh(square)
        axes = axes @ turned
    return mean @ axes.T, OwnLaw((axes * values) @ axes.T, size)


def _told(design: Floats, seen: Floats, weight: Floats, slack: Floats) -> Floats:
    """What columns explain of each table column by a ridge whose size the data tell (expectation, maximisation)."""
    values, axes = np.linalg.eigh((design * weight[:, None]).T @ design)
    wanted = axes.T @ (design.T @ (weight[:, None] * seen))
    values = np.maximum(values, 0.0)[:, None]
    for _ in range(6):
        precise = values + 1 / slack
        slack = np.maximum(((wanted / precise) ** 2 + 1 / precise).mean(0), 1e-7)
    return np.asarray(design @ (axes @ (wanted / (values + 1 / slack))))


def _told_by_features(facts: Any, rest: Floats, weight: Floats) -> Floats:
    """What features one by one explain of what is left; their variance by moments, so that noise explains nothing."""
    if not facts.shape[1]:
        return np.zeros_like(rest)
    wanted = facts.T @ (weight[:, None] * rest)
    square = scipy.sparse.csr_array(facts.T @ (scipy.sparse.diags_array(weight) @ facts))
    own = square.diagonal()
    slack = np.maximum(((wanted**2).sum(0) - own.sum()) / max(float((square.data**2).sum()), 1e-300), 1e-9)
    scale = 1 / np.sqrt(own[:, None] + 1 / slack)
    found = scale * conjugate(lambda v: scale * (square @ (scale * v) + scale * v / slack), scale * wanted)
    return np.asarray(facts @ found)
