"""Tag recommenders: which tags will this user give this resource?

The mixture adds the tags of the resource, the user's own tags and a little of everybody's. On tables denoised after a
private release it is the stronger referee; with a weight of 0 its parts are the baselines: own history, popularity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recveil.data import Codes, Floats, Interactions
from recveil.evaluation.recommenders.ranker import CELLS
from recveil.views.triples import Posts, TripleTables, tables


class TagModel(Protocol):
    """A fitted tag recommender."""

    def scores(self, user: NDArray[Any], item: NDArray[Any]) -> Floats:
        """Of each post (user[p], item[p]) the scores of all tags; higher is better."""

    @property
    def n_tags(self) -> int: ...


@dataclass(frozen=True)
class Mixture:
    """resource * M_r / (sum + 1) + user * P_u / (sum + 1) + popularity * g, where g is the share of each tag."""

    name: str = "mixture"
    resource: float = 1.0
    user: float = 1.0
    popularity: float = 0.02

    def fit(self, train: Interactions | TripleTables) -> Mixed:
        return Mixed(self, tables(train) if isinstance(train, Interactions) else train)


@dataclass(frozen=True, eq=False)
class Mixed:
    weights: Mixture
    tables: TripleTables

    @property
    def n_tags(self) -> int:
        return len(self.tables.tag)

    def scores(self, user: NDArray[Any], item: NDArray[Any]) -> Floats:
        tag = self.tables.tag
        found = np.tile(self.weights.popularity * tag / max(tag.sum(), 1e-300), (len(user), 1))
        parts = ((self.weights.resource, self.tables.resource, item), (self.weights.user, self.tables.user, user))
        for weight, table, codes in parts:
            if weight:
                rows = self.tables.rows(table, codes)
                found += weight * rows / (rows.sum(axis=1, keepdims=True) + 1)
        return found


POPULAR = Mixture("popularity", resource=0.0, user=0.0)
OWN_HISTORY = Mixture("own history", resource=0.0)


def suggest(model: TagModel, posts: Posts, n: int = 10) -> Codes:
    """The n best tags for each post, best first; among equal scores the lower code."""
    from recveil.kernels.ranking import top_n

    step = max(1, CELLS // max(model.n_tags, 1))
    lists = [np.empty((0, n), dtype=np.int32)]
    for begin in range(0, len(posts), step):
        block = slice(begin, begin + step)
        scores = np.ascontiguousarray(model.scores(posts.user[block], posts.item[block]))
        nothing = np.zeros(len(scores) + 1, dtype=np.int64)
        lists.append(top_n(scores, nothing, np.empty(0, dtype=np.int32), n))
    return np.concatenate(lists)
