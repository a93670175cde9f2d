"""Latent cosine: does a released record have the taste of the person whom it was made from?

The real users x items matrix is reduced to r dimensions, A = U S V'; a released row folds in as V'a / S and is compared
with the person's own row of U.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import svds

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.remembering import remembered
from recveil.intervals import bootstrap_mean
from recveil.measurement import NO_OWNERS, Measurement, SkippedError, Trial

RANK = 100
DENSE = 1000  # users or items, whichever are fewer


def latent(trial: Trial, rng: np.random.Generator, rank: int = RANK) -> list[Measurement]:
    """Mean cosine of released records and their owners; chance: the same records beside people drawn at random."""
    if trial.owner is None:
        raise SkippedError(NO_OWNERS)
    active = np.diff(trial.released.matrix(binary=True).indptr) > 0
    records = np.flatnonzero((trial.owner >= 0) & active)
    rank = min(rank, min(trial.train.matrix(binary=True).shape) - 1)
    if not len(records) or rank < 1:
        raise SkippedError("too few people or items to learn latent tastes of")
    owner = trial.owner[records]
    real, S, Vt = reduced(trial.train, rank)
    released = (trial.released.matrix(binary=True) @ Vt.T) / S
    cosine = cosines(real[owner], released[records])
    other = cosines(real[rng.permutation(owner)], released[records])
    estimate = bootstrap_mean(cosine, rng)
    return [Measurement("latent", *estimate, n=len(records), chance=float(other.mean()), params={"rank": rank})]


@remembered
def reduced(train: Interactions, rank: int) -> tuple[Floats, Floats, Floats]:
    """U, S and V' of the real matrix; remembered, because every release is compared with the same people."""
    A = train.matrix(binary=True)
    side = min(A.shape)
    if side > DENSE:
        U, S, Vt = svds(A, k=rank, v0=np.random.default_rng(0).standard_normal(side))
    else:  # the eigenvectors of the smaller square
        wide = A.shape[0] < A.shape[1]
        square = (A @ A.T if wide else A.T @ A).toarray()
        values, vectors = eigh(square, subset_by_index=[side - rank, side - 1])
        S = np.sqrt(np.maximum(values, 1e-12))
        U, Vt = (vectors, (A.T @ vectors / S).T) if wide else (A @ vectors / S, vectors.T)
    solid = 1e-5 * S.max() < S
    return U[:, solid], S[solid], Vt[solid]


def cosines(a: Floats, b: Floats) -> Floats:
    size = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosine: Floats = np.divide((a * b).sum(axis=1), size, out=np.zeros(len(a)), where=size > 0)
    return cosine
