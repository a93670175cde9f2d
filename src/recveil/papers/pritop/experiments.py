"""What the PriTop paper measured, done again: semantic loss, recall on one held-out post per user, and an audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from recveil.data import Floats, Interactions
from recveil.errors import RecveilError
from recveil.evaluation.metrics.tags import judge, semantic_loss
from recveil.evaluation.recommenders.folkrank import FolkRank
from recveil.evaluation.recommenders.tags import OWN_HISTORY, POPULAR, Mixture
from recveil.formats import read
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_tags import DpTags
from recveil.mechanisms.pritop import PriTop
from recveil.mechanisms.pritop.suppression import TagSuppression
from recveil.mechanisms.pritop.topics import Topics, gibbs
from recveil.randomness import seeded
from recveil.releases.release import publish
from recveil.splits import leave_one_post_out
from recveil.views.triples import distinct, tables

SOURCE = seeded(1)  # of every release; the split has seed 0
LOSS_EPSILONS = (0.1, 0.5, 1.0)


@dataclass(frozen=True)
class Size:
    """How much is done; small for tests."""

    topics: int = 100
    sweeps: int = 100
    loss_topics: tuple[int, ...] = tuple(range(10, 101, 10))
    loss_sweeps: int = 60
    epsilons: tuple[float, ...] = tuple(k / 10 for k in range(1, 11))

    @property
    def steps(self) -> int:
        return len(self.loss_topics) + len(self.epsilons) + len(self.releases()) + 5

    def releases(self) -> dict[str, PriTop | TagSuppression]:
        """What is compared with the original, by name; beside it stands PriTop at each epsilon."""
        pritop, suppression = PriTop(topics=self.topics), TagSuppression(topics=self.topics)
        return {
            **{
                f"suppression {keep:g}, {drop}": replace(suppression, keep=keep, drop=drop)
                for keep in (0.8, 0.6)
                for drop in ("least", "entropy")
            },
            "noise on used topics only": replace(pritop, weights="support"),
            "step 5 alone": replace(pritop, noise="none", weights="none"),
            "one noise for each table": replace(pritop, noise="tables"),
            "added tags not replaced": replace(pritop, weights="support", replaced="hers"),
            "step 5 omitted": replace(pritop, replaced="none"),
        }


FULL = Size()
Step = Callable[[], None]


@dataclass(frozen=True, eq=False)
class PritopFindings:
    """What came out on one data set. Recalls are posts x 10; losses are over topics and LOSS_EPSILONS."""

    size: Size
    recall: dict[str, Floats]
    by_epsilon: dict[float, Floats]
    loss: Floats
    loss_noisy: Floats  # by the noisy model's own distances, at epsilon 1
    loss_quiet: Floats  # without noise on the topic model, at epsilon 1
    alone: tuple[int, int]  # tags that one person used once: how many, and how many of them were released
    true_links: float  # the share of released pairs of user and resource that are true posts
    kept: float  # the share of a user's own records whose tag is unchanged at epsilon 1
    private: dict[str, Floats]


def load(folder: Path, name: str) -> Interactions:
    path = folder / name / "tags.parquet"
    if not path.is_file():
        raise RecveilError(f"{name}/tags.parquet is not in the folder of data sets")
    return distinct(read(path, duplicates="all"))


def experiments(data: Interactions, size: Size, step: Step) -> PritopFindings:
    """Everything on one data set. All releases of a part share one topic model."""
    train, test = leave_one_post_out(data, np.random.default_rng(0))
    recall = {"original": judge(FolkRank().fit(train), test)}
    step()
    model = _model(train, size.topics, size.sweeps)
    for name, mechanism in size.releases().items():
        recall[name] = judge(FolkRank().fit(released(mechanism, model)), test)
        step()
    by_epsilon = {}
    for epsilon in size.epsilons:
        by_epsilon[epsilon] = judge(FolkRank().fit(released(PriTop(epsilon, size.topics), model)), test)
        step()
    losses = _losses(data, size, step)
    audit = _audit(_model(data, size.topics, size.sweeps))
    step()
    return PritopFindings(size, recall, by_epsilon, *losses, *audit, _private(train, test, step))


def _model(data: Interactions, topics: int, sweeps: int) -> Topics:
    return gibbs(distinct(data), topics, sweeps, 50 / topics, PriTop.beta, seed=0)


def released(mechanism: PriTop | TagSuppression, model: Topics) -> Interactions:
    """What a mechanism makes of the triples of a topic model."""
    if isinstance(mechanism, PriTop):
        return mechanism.mask(model.rows, mechanism.noised(model, SOURCE), SOURCE).rows
    return mechanism.mask(model.rows, model, SOURCE).rows


def _losses(data: Interactions, size: Size, step: Step) -> tuple[Floats, Floats, Floats]:
    """Semantic loss for each number of topics and epsilon: steps 1 to 3 and 5, for records that were there."""
    rows = []
    for topics in size.loss_topics:
        model = _model(data, topics, size.loss_sweeps)
        noisy = [_loss(PriTop(epsilon, topics, weights="none"), model) for epsilon in LOSS_EPSILONS]
        quiet, _ = _loss(PriTop(1.0, topics, weights="none", noise="none"), model)
        rows.append([*(clean for clean, _ in noisy), noisy[-1][1], quiet])
        step()
    found = np.array(rows)
    return found[:, :-2], found[:, -2], found[:, -1]


def _loss(mechanism: PriTop, model: Topics) -> tuple[float, float]:
    """By the distances of the model before noise, and of the noisy one."""
    plan = mechanism.noised(model, SOURCE)
    made = mechanism.select(model.rows, plan, SOURCE)
    smooth = model.tag_counts + mechanism.beta
    laws = (smooth / smooth.sum(axis=1, keepdims=True), plan.laws)
    clean, noisy = (float(semantic_loss(made.user, made.before, made.after, law).mean()) for law in laws)
    return clean, noisy


def _audit(model: Topics) -> tuple[tuple[int, int], float, float]:
    """Tags used once and those of them that come out; the share of released links that are true; of tags kept."""
    mechanism, data = PriTop(topics=model.number), model.rows
    rows = released(mechanism, model)
    assert data.tag is not None and rows.tag is not None
    once = np.bincount(data.tag, minlength=data.n_tags) == 1
    links, posts = (part.matrix(binary=True) for part in (rows, data))
    drawn = mechanism.select(data, mechanism.noised(model, SOURCE), SOURCE)
    return (
        (int(once.sum()), int(once[np.unique(rows.tag)].sum())),
        float(links.multiply(posts).nnz / links.nnz),
        float(np.mean((drawn.before == drawn.after)[drawn.hers])),
    )


def _private(train: Interactions, test: Interactions, step: Step) -> dict[str, Floats]:
    """dp-tags at record level, each user's own history staying with her, and what there is without any release."""
    exact = tables(train)
    found = {
        "mixture, not private": judge(Mixture().fit(exact), test),
        "own history alone": judge(OWN_HISTORY.fit(exact), test),
        "popularity": judge(POPULAR.fit(exact), test),
    }
    step()
    public = PublicInfo(train.kind, train.unit, train.items, train.tags, True, ("tags",))
    for epsilon in (1.0, 4.0):
        mechanism = DpTags(epsilon=epsilon)
        noisy = mechanism.tables(publish(train, mechanism, public, SOURCE).rounds, public)
        found[f"dp-tags, epsilon {epsilon:g}"] = judge(Mixture().fit(noisy.beside(exact.user)), test)
        step()
    return found
