"""Tags: recall of suggested tags at n = 1 to 10, post by post, and the semantic loss of replaced ones.

In a comparison the people asked about are strangers to the release: of each, one post is to be guessed, and the others
are her own history, which meets the release on her side. Most of what is reached then comes from that history, so it
stands beside every number, and the lift of tags counts from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Codes, Floats, Interactions
from recveil.errors import RecveilError
from recveil.evaluation.recommenders.folkrank import FolkRank
from recveil.evaluation.recommenders.tags import OWN_HISTORY, POPULAR, Mixture, TagModel, suggest
from recveil.ids import union
from recveil.intervals import bootstrap_mean, paired_ratio
from recveil.measurement import NO_TEST_PEOPLE, Measurement, SkippedError, Trial
from recveil.splits import leave_one_post_out
from recveil.views.triples import Posts, TripleTables, distinct, posts, tables

N = 10  # tags on a list
SHOWN = (1, 5, 10)  # of a comparison
WARNING = (
    "A low semantic loss says little: tags that are rare in the same topic are at distance 0, whatever they mean, and "
    "the distance depends on how the topics were smoothed."
)


def tags(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """Recall of tags for held-out people, by each referee, with the release and with the real data; and tag lift.

    tag lift is (release - own history) / (real - own history): 1 is the real data, 0 is what people have without any.
    It is left out where the real data do not help.
    """
    train, people = trial.train, trial.holdout
    if train.tags is None:
        raise SkippedError("the data have no tags")
    if people is None or people.tags is None:
        raise SkippedError(NO_TEST_PEOPLE)
    if trial.released.tags is None:
        raise SkippedError("the release has no tags, so nothing can be learned of them")
    names = union(train.tags, trial.released.tags, people.tags)
    query, test = leave_one_post_out(distinct(people.over_tags(names)), rng)
    wanted, own = posts(test), tables(query)
    if not len(wanted):
        raise SkippedError("no held-out person has two tagged items, of which one could be guessed")
    arms = {source: tables(part.over_tags(names)) for source, part in (("release", trial.released), ("real", train))}
    reached = {
        (name, source): values for source, counts in arms.items() for name, values in _served(counts, own, wanted)
    }
    beside = replace(arms["real"], user=own.user)
    for baseline in (OWN_HISTORY, POPULAR):
        reached[baseline.name, "real"] = _asked(baseline.fit(beside), wanted)
    found = []
    for (name, source), values in reached.items():
        found += [m for m in measured(values, rng, referee=name, trained_on=source) if m.params["n"] in SHOWN]
    nothing = reached[OWN_HISTORY.name, "real"][:, -1]
    for name in dict.fromkeys(name for name, source in reached if source == "release"):
        release, real = (reached[name, source][:, -1] for source in ("release", "real"))
        try:
            estimate = paired_ratio(release - nothing, real - nothing, rng)
        except RecveilError:
            continue
        found.append(Measurement("tag lift", *estimate, n=len(real), params={"referee": name, "n": N}))
    return found


def _served(counts: TripleTables, own: TripleTables, wanted: Posts) -> list[tuple[str, Floats]]:
    """The recalls of both referees for people who bring their own history; FolkRank takes them into its graph."""
    mixture = Mixture()
    joined = TripleTables(
        counts.resource + own.resource,
        sparse.vstack([counts.user, own.user], format="csr"),
        counts.tag + own.tag,
        posts=sparse.vstack([counts.posts, own.posts], format="csr"),
    )
    folkrank = FolkRank()
    newcomers = replace(wanted, user=wanted.user + np.int32(counts.user.shape[0]))
    return [
        (mixture.name, _asked(mixture.fit(replace(counts, user=own.user)), wanted)),
        (folkrank.name, _asked(folkrank.fit(joined), newcomers)),
    ]


def _asked(model: TagModel, wanted: Posts, n: int = N) -> Floats:
    return recalls(suggest(model, wanted, n), wanted)


def returned(trial: Trial) -> Interactions:
    """The release with the users, items and tags of the training data, where it is known whose record is whose."""
    assert trial.train.tags is not None
    rows = trial.released.over_tags(trial.train.tags)
    if trial.owner is None:
        return rows
    user = trial.owner[rows.user]
    return replace(rows.take(user >= 0), user=user[user >= 0], users=trial.train.users)


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
    return _asked(model, posts(test), n)


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
