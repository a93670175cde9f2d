"""Latent cosine: does a released record have the taste of the person whom it was made from?

The real users x items matrix is reduced to r dimensions, A = U S V'; a released row folds in as V'a / S and is compared
with the person's own row of U.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.sparse.linalg import svds

from recveil.data import Floats, Interactions
from recveil.intervals import bootstrap_mean
from recveil.measurement import Measurement, Trial

RANK = 100


def latent(trial: Trial, rng: np.random.Generator, rank: int = RANK) -> list[Measurement]:
    """Mean cosine of released records and their owners; chance: the same records beside people drawn at random."""
    if trial.owner is None:
        return []
    active = np.diff(trial.released.matrix(binary=True).indptr) > 0
    records = np.flatnonzero((trial.owner >= 0) & active)
    rank = min(rank, min(trial.train.matrix(binary=True).shape) - 1)
    if not len(records) or rank < 1:
        return []
    owner = trial.owner[records]
    real, S, Vt = reduced(trial.train, rank)
    released = (trial.released.matrix(binary=True) @ Vt.T) / S
    cosine = _cosine(real[owner], released[records])
    other = _cosine(real[rng.permutation(owner)], released[records])
    estimate = bootstrap_mean(cosine, rng)
    return [Measurement("latent", *estimate, n=len(records), chance=float(other.mean()), params={"rank": rank})]


@lru_cache(maxsize=4)
def reduced(train: Interactions, rank: int) -> tuple[Floats, Floats, Floats]:
    """U, S and V' of the real matrix; remembered, because every release is compared with the same people."""
    A = train.matrix(binary=True)
    U, S, Vt = svds(A, k=rank, v0=np.random.default_rng(0).standard_normal(min(A.shape)))
    solid = 1e-9 * S.max() < S
    return U[:, solid], S[solid], Vt[solid]


def _cosine(a: Floats, b: Floats) -> Floats:
    size = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosine: Floats = np.divide((a * b).sum(axis=1), size, out=np.zeros(len(a)), where=size > 0)
    return cosine
