"""Latent cosine: does a released record have the taste of the person whom it was made from?

The real users x items matrix is reduced to r dimensions, A = U S V'; a released row folds in as V'a / S and is compared
with the person's own row of U.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import svds

from recveil.data import Floats
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
    real, released = tastes(trial, rank, int(rng.integers(2**31)))
    cosine = _cosine(real[owner], released[records])
    other = _cosine(real[rng.permutation(owner)], released[records])
    estimate = bootstrap_mean(cosine, rng)
    return [Measurement("latent", *estimate, n=len(records), chance=float(other.mean()), params={"rank": rank})]


def tastes(trial: Trial, rank: int, seed: int) -> tuple[Floats, Floats]:
    """Rows of U for the real users, and the released users folded in."""
    A, other = trial.train.matrix(binary=True), trial.released.matrix(binary=True)
    start = np.random.default_rng(seed).standard_normal(min(A.shape))
    U, S, Vt = svds(A, k=rank, v0=start)
    solid = 1e-9 * S.max() < S
    return U[:, solid], (other @ Vt[solid].T) / S[solid]


def _cosine(a: Floats, b: Floats) -> Floats:
    size = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosine: Floats = np.divide((a * b).sum(axis=1), size, out=np.zeros(len(a)), where=size > 0)
    return cosine
