"""Walks over DS and CVS: the graph in the form the kernels want, and streams of items drawn from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.kernels.walks import Graph
from recveil.transitions import Transitions

BLOCKS = 32
DENSE_ITEMS = 10_000  # up to here CVS is held dense as well; beyond, only as many columns as keep it linear in non-zeros


def ranks(moves: Transitions) -> NDArray[np.int32]:
    """For each item its rank by the largest CVS it takes part in, the most common item first."""
    peaks = moves.cvs.max(axis=1).toarray().ravel() if moves.cvs.nnz else np.zeros(len(moves.items))
    rank = np.empty(len(moves.items), dtype=np.int32)
    rank[np.argsort(-peaks, kind="stable")] = np.arange(len(rank), dtype=np.int32)
    return rank


def graph(moves: Transitions, rank: NDArray[np.int32]) -> Graph:
    """DS and CVS over ranks, with block bounds."""
    n = len(rank)
    ds, cvs = _ranked(moves.ds, rank), _ranked(moves.cvs, rank)
    mass = np.cumsum(np.asarray(ds.sum(axis=0), dtype=np.float64))
    cuts = np.searchsorted(mass, mass[-1] * np.arange(1, BLOCKS) / BLOCKS, side="left") + 1
    block = np.searchsorted(cuts, np.arange(n), side="right")  # of each rank
    membership = sparse.csr_array((np.ones(n), (np.arange(n), block)), shape=(n, BLOCKS))
    counts = (_ones(ds) @ membership).toarray()
    blocks = np.zeros((n, BLOCKS + 1), dtype=np.uint64)
    np.cumsum(counts, axis=1, out=blocks[:, 1:], dtype=np.uint64)
    blocks += ds.indptr[:-1, None].astype(np.uint64)
    return Graph(
        ds.indptr.astype(np.uint64),
        ds.indices.astype(np.uint32),
        ds.data.astype(np.float64),
        blocks,
        (ds.astype(np.float64) @ membership).toarray(),
        _peaks(cvs, block),
        cvs[:, : _dense_columns(cvs)].astype(np.float32).toarray(),
        cvs.indptr.astype(np.uint64),
        cvs.indices.astype(np.uint32),
        cvs.data.astype(np.float64),
    )


def _ranked(matrix: sparse.csr_array, rank: NDArray[np.int32]) -> sparse.csr_array:
    cells = matrix.tocoo()
    ranked = sparse.coo_array((cells.data, (rank[cells.row], rank[cells.col])), shape=matrix.shape).tocsr()
    ranked.sort_indices()
    return ranked


def _ones(matrix: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _peaks(cvs: sparse.csr_array, block: NDArray[np.int64]) -> NDArray[np.float64]:
    peak = np.zeros((cvs.shape[0], BLOCKS))
    rows = np.repeat(np.arange(cvs.shape[0]), np.diff(cvs.indptr))
    np.maximum.at(peak, (rows, block[cvs.indices]), cvs.data)
    return peak


def _dense_columns(cvs: sparse.csr_array) -> int:
    n = cvs.shape[0]
    return n if n <= DENSE_ITEMS else min(n, max(1, cvs.nnz // n))
