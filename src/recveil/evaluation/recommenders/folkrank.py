"""FolkRank (Hotho et al. 2006): weights spread over the graph of users, resources and tags, with a preference and
without; the difference ranks the tags.

The graph is undirected; an edge weighs as many triples as hold both of its ends. A preference is 1 at every node, and
|U| more at the user and |R| more at the resource of a post. What is spread is linear in the preference: the part that
all posts share is spread once, and of the rest either each post or, where these are fewer, each user and each resource.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.views.triples import TripleTables, tables


@dataclass(frozen=True)
class FolkRank:
    """`damping` is the share of weight that moves on along the edges, the rest comes anew from the preference."""

    name: str = "folkrank"
    damping: float = 0.7
    iterations: int = 10

    def fit(self, train: Interactions | TripleTables) -> Spread:
        counts = tables(train) if isinstance(train, Interactions) else train
        by_user, by_resource = (_wide(t, counts) for t in (counts.user, counts.resource))
        users, resources = by_user.shape[0], by_resource.shape[0]
        posts = counts.posts if counts.posts is not None else sparse.csr_array((users, resources))
        edges = sparse.block_array(
            [[None, posts, by_user], [posts.T, None, by_resource], [by_user.T, by_resource.T, None]], format="csr"
        )
        return Spread(
            self, edges.indptr.astype(np.int64), edges.indices, edges.data.astype(np.float32), users, resources
        )


@dataclass(frozen=True, eq=False)
class Spread:
    """The graph by rows: an edge of weight edge[k] between i and nodes[k], for k from starts[i] to starts[i + 1].

    Single precision is twice as fast, and its error of 1e-6 is far below what the last iteration changes.
    """

    settings: FolkRank
    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    edge: NDArray[np.float32]
    users: int
    resources: int

    @property
    def n_nodes(self) -> int:
        return len(self.starts) - 1

    @property
    def n_tags(self) -> int:
        return self.n_nodes - self.users - self.resources

    @cached_property
    def everywhere(self) -> Floats:
        """What the tags get where the preference is 1 at every node."""
        n = self.n_nodes
        return np.asarray(self._spread(np.array([0, n]), np.arange(n), np.ones(n))[0])

    def scores(self, user: NDArray[Any], item: NDArray[Any]) -> Floats:
        """w - w0; where neither user nor resource has an edge, nothing is known of the post but w0, popularity."""
        node = np.stack([user, self.users + item.astype(np.int64)])
        amount = np.array([float(self.users), float(self.resources)])
        distinct, place = np.unique(node, return_inverse=True)
        if len(distinct) < len(user):
            each = self._spread(np.arange(len(distinct) + 1), distinct, np.ones(len(distinct)))
            own = amount[0] * each[place[0]] + amount[1] * each[place[1]]
        else:
            own = self._spread(np.arange(0, 2 * len(user) + 1, 2), node.T.ravel(), np.tile(amount, len(user)))
        total = self.n_nodes + amount.sum()
        found = own / total - self.everywhere * (1 / self.n_nodes - 1 / total)
        found[np.all(np.diff(self.starts)[node] == 0, axis=0)] = self.everywhere
        return np.asarray(found)

    def _spread(self, starts: NDArray[np.int64], preferred: NDArray[Any], amount: Floats) -> Floats:
        from recveil.kernels.folkrank import spread

        graph = (self.starts, self.nodes, self.edge)
        preferences = (starts, preferred.astype(np.int32), amount.astype(np.float32))
        how = (self.users + self.resources, np.float32(self.settings.damping), self.settings.iterations)
        return np.asarray(spread(*graph, *preferences, *how))


def _wide(table: Any, counts: TripleTables) -> sparse.csr_array:
    """A table as a sparse matrix over all tags."""
    matrix = sparse.csr_array(table)
    if matrix.shape[1] == len(counts.tag):
        return matrix
    assert counts.vocabulary is not None
    cells = matrix.tocoo()
    return sparse.csr_array(
        (cells.data, (cells.row, counts.vocabulary[cells.col])), shape=(matrix.shape[0], len(counts.tag))
    )
