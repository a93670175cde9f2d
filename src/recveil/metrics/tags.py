"""Tags: recall of suggested tags at n = 1 to 10, post by post, and the semantic loss of replaced ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.data import Codes, Floats, Interactions
from recveil.intervals import bootstrap_mean
from recveil.measurement import Measurement
from recveil.recommenders.tags import TagModel, suggest
from recveil.triples import Posts, posts

N = 10  # tags on a list
WARNING = (
    "A low semantic loss says little: tags that are rare in the same topic are at distance 0, whatever they mean, and "
    "the distance depends on how the topics were smoothed."
)


def recalls(lists: Codes, wanted: Posts) -> Floats:
    """Posts x n: the share of a post's tags among the first 1, 2, ... of its list; -1 in a list is no tag."""
    n_tags = int(max(wanted.tag.max(initial=0), lists.max(initial=0))) + 1
    number = np.diff(wanted.starts)
    post = np.arange(len(wanted), dtype=np.int64)
    truth = np.repeat(post, number) * n_tags + wanted.tag
    hits = np.isin(post[:, None] * n_tags + lists, truth) & (lists >= 0)
    return np.asarray(np.cumsum(hits, axis=1) / number[:, None])


def judge(model: TagModel, test: Interactions, n: int = N) -> Floats:
    """The recalls of a fitted tag recommender on held-out posts that are coded as its training data are."""
    wanted = posts(test)
    return recalls(suggest(model, wanted, n), wanted)


def measured(values: Floats, rng: np.random.Generator, **params: Any) -> list[Measurement]:
    """The mean of each column of `recalls` with its interval."""
    return [
        Measurement("tag recall", *bootstrap_mean(column, rng), n=len(column), params={**params, "n": place + 1})
        for place, column in enumerate(values.T)
    ]


def divergence(a: Floats, b: Floats) -> Floats:
    """Jensen-Shannon divergence of laws in the last axis, in bits: 0 where they are equal, 1 where they never meet."""
    middle = (a + b) / 2
    return np.asarray((_against(a, middle) + _against(b, middle)) / 2)


def semantic_loss(user: NDArray[Any], before: Codes, after: Codes, topics: Floats) -> Floats:
    """For each user with rows the mean divergence of her tags from what replaced them; topics[t] is P(topic | t).

    `before` and `after` are the rows that were kept; what was added or deleted has no counterpart. See WARNING.
    """
    loss = np.concatenate(
        [divergence(topics[before[k : k + 65536]], topics[after[k : k + 65536]]) for k in range(0, len(user), 65536)]
    )
    rows = np.bincount(user)
    return np.asarray(np.bincount(user, loss)[rows > 0] / rows[rows > 0])


def _against(a: Floats, middle: Floats) -> Floats:
    ratio = np.divide(a, middle, out=np.ones_like(a), where=a > 0)
    return np.asarray(np.sum(a * np.log2(ratio), axis=-1))
