"""pritop: the "private topic-based tagging release", as published. Its guarantee does not hold.

The numbers of the steps are those of docs/explanation/pritop.md, which says what was read out of the paper,
what of it comes out, and why there is no privacy in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.data import Codes, Floats, Interactions, group
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.mechanism import Masked, Masking, PublicInfo, Rows, Within, parameter
from recveil.mechanisms.pritop.topics import Topics, check_topics, gibbs
from recveil.randomness import Source
from recveil.views.triples import distinct, tag_codes

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PrivateTopics:
    """The noisy topic model, and the topic that each triple drew from it."""

    drawn: Topics
    model: Topics  # the state of the Gibbs sampler, before noise
    likely: Floats  # tags x topics: Pr(t | z)
    laws: Floats  # tags x topics: Pr(z | t)


@dataclass(frozen=True, eq=False)
class SelectedTags:
    """Records by user: the tag before and after, and whether it was hers or added."""

    user: Codes
    item: Codes
    before: Codes
    after: Codes
    hers: NDArray[np.bool_]


@dataclass(frozen=True)
class PriTop(Masking):
    """A noisy topic model, noisy topic weights, and every tag replaced by one of its topic.

    Where the paper leaves something open a parameter names the choice, and its default is the most literal one.
    """

    name = "pritop"
    purpose = "For comparison with its paper only: the published guarantee does not hold."
    local_only = "its topic model is fitted in one place, to all tags of all people"
    needs = ("tag",)
    ordered = False

    epsilon: float = parameter(1.0, about="the claimed privacy budget", rule=Within(0, open_low=True))
    topics: int = parameter(100, about="number of topics (K)", rule=Within(2))
    sweeps: int = parameter(100, about="sweeps of the Gibbs sampler", rule=Within(1))
    alpha: float | None = parameter(
        None, about="prior of topics in a resource; none: 50 / topics", rule=Within(0, open_low=True)
    )
    beta: float = parameter(0.01, about="prior of tags in a topic", rule=Within(0, open_low=True))
    noise: str = parameter(
        "cells",
        about="the noise on the counts of the model: one for each cell, one for each of the two tables, or none",
        rule=("cells", "tables", "none"),
    )
    totals: str = parameter(
        "opposite",
        about="the noise on the totals below the counts: that of the count with opposite sign, with its sign, or none",
        rule=("opposite", "same", "none"),
    )
    weights: str = parameter(
        "all",
        about="the noise on a user's topic weights: on all topics, on those that she uses, or on none",
        rule=("all", "support", "none"),
    )
    replaced: str = parameter(
        "all", about="which tags are replaced: all, those that were hers, or none", rule=("all", "hers", "none")
    )
    candidates: str = parameter(
        "drawn",
        about="what a tag of a topic is replaced by: tags of which a record drew the topic, or tags that are most "
        "probably of that topic",
        rule=("drawn", "likeliest"),
    )
    added: str = parameter(
        "resource",
        about="where an added tag goes: to a random resource of the user, or nowhere",
        rule=("resource", "nowhere"),
    )

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return Guarantee(
            sentence=(
                f"The paper claims epsilon = {self.epsilon:g} for one record; that does not hold. A tag that one "
                "person alone used is released only if her record exists, since the candidates are taken from the "
                "data; so are the links from users to resources. One record also moves more than one count of the "
                "topic model, and through the sampler any number of them."
            ),
            status="refuted",
            epsilon=self.epsilon,
            unit="record",
            neighbours=NEIGHBOURS["record"],
        )

    def card(self) -> str:
        which = {"all": "every tag was", "hers": "every tag that was hers was", "none": "no tag was"}[self.replaced]
        weights = {"all": "each topic", "support": "the topics that she uses", "none": "none"}[self.weights]
        return (
            f"Tags were sorted into {self.topics} topics by a topic model (noise on its counts: {self.noise}). Noise "
            f"then added tags to a user's topics and took some away ({weights}), and {which} replaced by a random tag "
            "of its topic, alike ones a little more often (PriTop, as published).\n\n"
            "What an attacker still learns: every released pair of user and resource is a true one, so whoever knows a "
            "few resources of a person finds her record. A tag that occurs here was used by somebody; if only one "
            "person can have used it, that is told of her.\n\n"
            "What is lost: on the public data sets that the paper used, with its own settings, fewer than one tag in a "
            "hundred stays as it was, and a recommender learns less than from the popularity of tags."
        )

    def check_fit(self, data: Interactions) -> None:
        super().check_fit(data)
        check_topics(self.name, self.topics, data)

    def count(self, chunk: Interactions) -> Rows:
        """Triples with their users. The model needs counts of resources and tags alone; the candidates of a topic are
        the tags of all records that drew it, and a record draws from its user's stream."""
        return Rows((distinct(chunk),))

    def plan(self, counts: Rows, source: Source) -> PrivateTopics:
        seed = int(source.derive("model").words(1)[0] >> np.uint64(1))
        rows = distinct(counts.whole())
        return self.noised(gibbs(rows, self.topics, self.sweeps, self._alpha, self.beta, seed), source)

    def noised(self, model: Topics, source: Source) -> PrivateTopics:
        """Steps 2 and 3 of the paper: noise on the counts of the model, and a topic for every record."""
        from recveil.kernels.topics import draw_topics

        rows = model.rows
        of_topic, of_resource = model.tag_counts.sum(axis=0), model.resource_counts.sum(axis=1, keepdims=True)
        tags, by_tag = self._noisy(model.tag_counts, of_topic, self.beta, rows.n_tags, source.derive("tags"))
        resources = source.derive("resources")
        _, by_item = self._noisy(model.resource_counts, of_resource, self._alpha, self.topics, resources)
        key = source.derive("topics").key()
        topic = draw_topics(rows.starts("user"), rows.keys("user"), rows.item, tag_codes(rows), by_item, by_tag, key)
        laws = tags / tags.sum(axis=1, keepdims=True)
        return PrivateTopics(Topics(rows, topic, self.topics), model, by_tag, laws)

    @property
    def _alpha(self) -> float:
        return 50 / self.topics if self.alpha is None else self.alpha

    def _noisy(self, counts: Ints, totals: Ints, prior: float, sides: int, source: Source) -> tuple[Floats, Floats]:
        """Counts with noise and prior, and the probabilities that they make over their totals."""
        shape = {"cells": counts.shape, "tables": (1, 1), "none": (0, 0)}[self.noise]
        noise = source.generator().laplace(scale=2 / self.epsilon, size=shape) if self.noise != "none" else 0.0
        sign = {"opposite": -1.0, "same": 1.0, "none": 0.0}[self.totals]
        above = np.maximum(counts + noise, 0) + prior
        return above, above / (np.maximum(totals + sign * noise, 0) + sides * prior)

    def mask(self, chunk: Interactions, plan: PrivateTopics, source: Source) -> Masked:
        made = self.select(chunk, plan, source)
        there = made.after >= 0
        rows = replace(plan.drawn.rows, user=made.user, item=made.item, tag=made.after, users=chunk.users).take(there)
        left_out = len(distinct(chunk)) - np.count_nonzero(made.hers)
        notes = {"tags added": int(np.count_nonzero(~made.hers)), "tags taken away": int(left_out)}
        return Masked(distinct(rows), chunk.users, notes)

    def select(self, chunk: Interactions, plan: PrivateTopics, source: Source) -> SelectedTags:
        """Steps 4 and 5 of the paper for whole users: noisy weights, then every tag replaced."""
        from recveil.kernels.topics import draw_tags

        rows, topic = plan.drawn.of(chunk)
        keys = rows.keys("user")
        noise = self._weights(rows, topic, keys, source.derive("weights"))
        stays = _place(rows, topic, plan) >= -noise[rows.user, topic]
        more: tuple[NDArray[Any], ...] = _added(rows, noise, plan.likely, keys, source.derive("resource").key())
        order = np.argsort(np.append(rows.user[stays], more[0]), kind="stable")
        hers = order < np.count_nonzero(stays)
        mine: tuple[NDArray[Any], ...] = (rows.user, rows.item, tag_codes(rows), topic)
        user, item, before, of = (np.append(m[stays], a)[order] for m, a in zip(mine, more, strict=True))
        made = SelectedTags(user, item, before, before, hers)
        if self.replaced != "none":
            starts = np.searchsorted(user, np.arange(rows.n_users + 1))
            key = source.derive("tags").key()
            after = draw_tags(starts, keys, of, before, *self._candidates(plan), plan.laws, self.epsilon / 8, key)
            made = replace(made, after=after if self.replaced == "all" else np.where(hers, after, before))
        return made

    def _weights(self, rows: Interactions, topic: Ints, keys: NDArray[np.uint64], source: Source) -> Ints:
        """Users x topics: by how many tags each topic of a user grows or shrinks."""
        from recveil.kernels.draws import laplace_per_group

        shape = (rows.n_users, self.topics)
        if self.weights == "none":
            return np.zeros(shape, dtype=np.int64)
        starts = np.arange(rows.n_users + 1) * self.topics
        noise = np.rint(4 / self.epsilon * laplace_per_group(starts, keys, source.key())).astype(np.int64)
        weight = np.bincount(rows.user * np.int64(self.topics) + topic, minlength=len(noise))
        noise = np.minimum(noise, 0) if self.added == "nowhere" else noise
        counted = weight if self.weights == "support" else np.bincount(rows.user, minlength=shape[0])[:, None]
        return np.where(counted.reshape(shape[0], -1) > 0, noise.reshape(shape), 0)

    def _candidates(self, plan: PrivateTopics) -> tuple[Ints, Codes]:
        """The tags that may replace a tag of each topic."""
        if self.candidates == "drawn":
            topic, tag = np.nonzero(plan.drawn.tag_counts.T)
        else:
            topic, tag = np.argmax(plan.laws, axis=1), np.arange(len(plan.laws))
        starts, order = group(topic, self.topics)
        return starts, tag[order].astype(np.int32)


def _place(rows: Interactions, topic: Ints, plan: PrivateTopics) -> Ints:
    """Of each record, how many of its user's records of that topic have less probable tags."""
    order = np.lexsort((plan.likely[tag_codes(rows), topic], topic, rows.user))
    cell = rows.user[order] * np.int64(plan.drawn.number) + topic[order]
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.arange(len(rows)) - np.searchsorted(cell, cell)
    return place


def _added(
    rows: Interactions, noise: Ints, likely: Floats, keys: NDArray[np.uint64], key: NDArray[np.uint64]
) -> tuple[Codes, Codes, Codes, Ints]:
    """User, resource, tag and topic of what is added: a topic's most probable tags, at random resources of hers."""
    from recveil.kernels.draws import below_per_group

    more = np.clip(noise, 0, len(likely))
    user, topic = (codes.astype(np.int64) for codes in np.nonzero(more))
    number = more[user, topic]
    rank = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    user, topic = np.repeat(user, number), np.repeat(topic, number)
    best = np.argsort(-likely, axis=0, kind="stable").astype(np.int32)
    pairs = np.unique(rows.user * np.int64(rows.n_items) + rows.item)
    first = np.searchsorted(pairs, np.arange(rows.n_users + 1) * np.int64(rows.n_items))
    starts = np.searchsorted(user, np.arange(rows.n_users + 1))
    which = first[user] + below_per_group(starts, keys, np.diff(first)[user], key)
    return user.astype(np.int32), (pairs[which] % rows.n_items).astype(np.int32), best[rank, topic], topic
