"""Topics of tags: latent Dirichlet allocation by collapsed Gibbs sampling; a resource is a document, a tag a word."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recveil.data import Codes, Interactions
from recveil.errors import RecveilError
from recveil.ids import places
from recveil.views.triples import tag_codes

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Topics:
    """Distinct triples by user, resource and tag, and the topic of each."""

    rows: Interactions
    topic: Ints
    number: int

    @cached_property
    def tag_counts(self) -> Ints:
        """Tags x topics: how many triples."""
        return self._count(tag_codes(self.rows), self.rows.n_tags)

    @cached_property
    def resource_counts(self) -> Ints:
        """Resources x topics: how many triples."""
        return self._count(self.rows.item, self.rows.n_items)

    def of(self, chunk: Interactions) -> tuple[Interactions, Ints]:
        """The triples of the users of a chunk, with user codes of the chunk, and their topics."""
        people = np.unique(chunk.user)
        starts = self.rows.starts("user")
        place = places(chunk.users.gather(people), self.rows.users)
        length = np.diff(starts)[place]
        at = np.repeat(starts[place] - np.cumsum(length) + length, length) + np.arange(length.sum())
        user = np.repeat(people, length).astype(np.int32)
        return replace(self.rows.take(at), user=user, users=chunk.users), self.topic[at]

    def _count(self, codes: Codes, n: int) -> Ints:
        cells = codes * np.int64(self.number) + self.topic
        return np.bincount(cells, minlength=n * self.number).reshape(n, self.number)


def gibbs(rows: Interactions, number: int, sweeps: int, alpha: float, beta: float, seed: int) -> Topics:
    """Topics of distinct triples, each one token, after some sweeps of tomotopy's sampler with fixed priors.

    The same seed gives the same topics on the same kind of processor: tomotopy has a generator of its own, and
    arithmetic for each.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its types warn of their own making
        import tomotopy

    tag = tag_codes(rows)
    order = np.lexsort((tag, rows.item))  # tokens that are alike in both cannot be told apart
    model = tomotopy.LDAModel(k=number, alpha=alpha, eta=beta, seed=seed)
    model.optim_interval = 0
    words = np.array([str(t) for t in range(rows.n_tags)], dtype=object)[tag[order]]
    documents = np.split(words, np.flatnonzero(np.diff(rows.item[order])) + 1)
    for document in documents:
        model.add_doc(document.tolist())
    model.train(sweeps, workers=1)
    of_word = np.array(list(model.vocabs), dtype=np.int64)
    held = [of_word[document.words] for document in model.docs]
    found = np.concatenate([document.topics for document in model.docs])
    number_of = np.repeat(np.arange(len(held)), [len(h) for h in held])
    topic = np.empty(len(rows), dtype=np.int64)
    topic[order] = found[np.lexsort((np.concatenate(held), number_of))]
    return Topics(rows, topic, number)


def check_topics(name: str, number: int, data: Interactions) -> None:
    """Raise where there are fewer tags than topics."""
    tags = len(np.unique(tag_codes(data)))
    if number > tags:
        raise RecveilError(f"{name}: parameter topics must be at most the number of tags ({tags}), not {number}")
