"""How likely a memory biased walk is to take the step that a real person took, for every size of memory at once."""

from __future__ import annotations

import numpy as np
from numba import njit, prange, uint32
from numpy.typing import NDArray

from recveil.kernels.walks import Graph, Ints, Ranks, _common


@njit(cache=True, parallel=True)
def relevant_next(graph: Graph, clicks: Ranks, begins: Ints, targets: Ints, most: int) -> NDArray[np.float64]:
    """[person, m]: the probability of clicks[target] after clicks[target - 1] with the m items before it in memory.

    A memory reaches back to `begins` at the furthest; where no weight would be left, the oldest items are forgotten.
    """
    found = np.zeros((len(targets), most + 1))
    dense = uint32(graph.head.shape[1])
    for k in prange(len(targets)):
        at = targets[k]
        here, wanted = clicks[at - 1], clicks[at]
        first, last = graph.blocks[here, 0], graph.blocks[here, graph.blocks.shape[1] - 1]
        items, weights = graph.items[first:last], graph.weights[first:last].copy()
        if len(items) == 0:
            first, last = graph.cvs_starts[here], graph.cvs_starts[here + uint32(1)]
            items, weights = graph.cvs_items[first:last], graph.cvs_counts[first:last].copy()
        for m in range(most + 1):
            if m > 0 and at - 1 - m >= begins[k]:
                c = clicks[at - 1 - m]
                more = np.empty_like(weights)
                for j in range(len(items)):
                    more[j] = 0.0 if weights[j] == 0.0 else weights[j] * _common(graph, dense, c, items[j])
                if more.sum() > 0.0:
                    weights = more
                else:  # whatever is remembered beyond this item is forgotten before it
                    found[k, m:] = found[k, m - 1]
                    break
            total = weights.sum()
            for j in range(len(items)):
                if items[j] == wanted and total > 0.0:
                    found[k, m] = weights[j] / total
    return found
