"""DS and CVS in the form that the walking kernels want: items by rank, rows in blocks with their bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Codes
from recveil.views.transitions import Transitions

BLOCKS = 32
DENSE_ITEMS = (
    10_000  # up to here CVS is held dense as well; beyond, only as many columns as keep it linear in non-zeros
)


@dataclass(frozen=True, eq=False)
class Walkable:
    """DS and CVS ready to be walked. Kernels name items by rank, the most common first."""

    rank: NDArray[np.uint32]  # of each item code
    code: Codes  # of each rank
    graph: kernels.walks.Graph


def walkable(moves: Transitions) -> Walkable:
    """DS and CVS over ranks, with block bounds."""
    n = len(moves.items)
    order = np.argsort(-_largest(moves.cvs), kind="stable").astype(np.int32)
    rank = np.empty(n, dtype=np.uint32)
    rank[order] = np.arange(n, dtype=np.uint32)
    ds, cvs = _ranked(moves.ds, rank), _ranked(moves.cvs, rank)
    mass = np.cumsum(np.asarray(ds.sum(axis=0), dtype=np.float64))
    cuts = np.searchsorted(mass, mass[-1] * np.arange(1, BLOCKS) / BLOCKS) + 1
    block = np.searchsorted(cuts, np.arange(n), side="right")  # of each rank
    member = scipy.sparse.csr_array((np.ones(n), (np.arange(n), block)), shape=(n, BLOCKS))
    blocks = np.zeros((n, BLOCKS + 1), dtype=np.uint64)
    np.cumsum((_ones(ds) @ member).toarray(), axis=1, out=blocks[:, 1:], dtype=np.uint64)
    blocks += ds.indptr[:-1, None].astype(np.uint64)
    graph = kernels.walks.Graph(
        ds.indices.astype(np.uint32),
        ds.data.astype(np.float64),
        blocks,
        (ds.astype(np.float64) @ member).toarray(),
        _peaks(cvs, block),
        cvs[:, : _dense_columns(cvs)].astype(np.float32).toarray(),
        cvs.indptr.astype(np.uint64),
        cvs.indices.astype(np.uint32),
        cvs.data.astype(np.float64),
    )
    return Walkable(rank, order, graph)


def _largest(matrix: scipy.sparse.csr_array) -> NDArray[np.int64]:
    largest = np.zeros(matrix.shape[0], dtype=np.int64)
    np.maximum.at(largest, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.data)
    return largest


def _ranked(matrix: scipy.sparse.csr_array, rank: NDArray[np.uint32]) -> scipy.sparse.csr_array:
    cells = matrix.tocoo()
    ranked = scipy.sparse.coo_array((cells.data, (rank[cells.row], rank[cells.col])), shape=matrix.shape).tocsr()
    ranked.sort_indices()
    return ranked


def _ones(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _peaks(cvs: scipy.sparse.csr_array, block: NDArray[np.int64]) -> NDArray[np.float64]:
    peak = np.zeros((cvs.shape[0], BLOCKS))
    rows = np.repeat(np.arange(cvs.shape[0]), np.diff(cvs.indptr))
    np.maximum.at(peak, (rows, block[cvs.indices]), cvs.data)
    return peak


def _dense_columns(cvs: scipy.sparse.csr_array) -> int:
    n = int(cvs.shape[0])
    return n if n <= DENSE_ITEMS else min(n, max(1, cvs.nnz // n))
