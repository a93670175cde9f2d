"""PriTop and tag suppression: kernels against twins, each step on data whose answer is plain, and the audit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.audit import audit
from recveil.evaluation.metrics.tags import divergence as js
from recveil.evaluation.metrics.tags import judge, returned
from recveil.evaluation.recommenders.folkrank import FolkRank
from recveil.intervals import clopper_pearson
from recveil.kernels.topics import divergence, draw_tags, draw_topics
from recveil.measurement import trial
from recveil.mechanism import Rows
from recveil.mechanisms.pritop import PriTop, PrivateTopics
from recveil.mechanisms.pritop.suppression import TagSuppression
from recveil.mechanisms.pritop.topics import Topics, gibbs
from recveil.mechanisms.spec import parse
from recveil.randomness import seeded
from recveil.releases.release import release
from recveil.samples import sample
from recveil.splits import leave_one_post_out
from recveil.views.triples import distinct

KEY = seeded(4).key()
STARTS, KEYS = np.array([0, 3, 3, 9, 12]), np.array([4, 9, 2, 11], dtype=np.uint64)


@pytest.fixture(scope="module")
def world() -> Interactions:
    return sample("tags?users=120")


@pytest.fixture(scope="module")
def plan(world: Interactions) -> PrivateTopics:
    return planned(PriTop(topics=10, sweeps=20), world)


def planned(mechanism: PriTop, data: Interactions) -> PrivateTopics:
    return mechanism.plan(Rows((distinct(data),)), seeded(1))


@pytest.mark.kernel
def test_topics_are_drawn_as_their_twin_draws_them() -> None:
    rng = np.random.default_rng(0)
    by_item, by_tag = rng.random((3, 5)), rng.random((4, 5)) * (rng.random((4, 5)) < 0.7)
    item, tag = rng.integers(0, 3, 12).astype(np.int32), rng.integers(0, 4, 12).astype(np.int32)
    found = draw_topics(STARTS, KEYS, item, tag, by_item, by_tag, KEY)
    laws = (by_item[item] * by_tag[tag]).tolist()
    assert found.tolist() == naive.draw_topics(STARTS.tolist(), KEYS.tolist(), laws, KEY.tobytes())


@pytest.mark.kernel
@pytest.mark.parametrize("sharpness", [0.125, 4.0])
def test_tags_are_drawn_as_their_twin_draws_them(sharpness: float) -> None:
    rng = np.random.default_rng(1)
    laws = rng.dirichlet(np.full(3, 0.3), 6)
    laws[0] = [1, 0, 0]
    topic, tag = rng.integers(0, 3, 12), rng.integers(0, 6, 12).astype(np.int32)
    lists = [[0, 2, 5], [], [1, 2, 3, 4]]
    starts, candidates = np.array([0, 3, 3, 7]), np.array([0, 2, 5, 1, 2, 3, 4], dtype=np.int32)
    found = draw_tags(STARTS, KEYS, topic, tag, starts, candidates, laws, sharpness, KEY)
    rows = list(zip(topic.tolist(), tag.tolist(), strict=True))
    twin = naive.draw_tags(STARTS.tolist(), KEYS.tolist(), rows, lists, laws.tolist(), sharpness, KEY.tobytes())
    assert found.tolist() == twin
    for a in laws:
        for b in laws:
            assert divergence(a, b) == pytest.approx(naive.divergence(a.tolist(), b.tolist()), abs=1e-15)
            assert js(a, b) == pytest.approx(naive.divergence(a.tolist(), b.tolist()), abs=1e-15)


def test_the_exponential_mechanism_has_its_law() -> None:
    laws, n = np.array([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0]]), 60_000
    everyone = np.array([0, n]), np.array([7], dtype=np.uint64)
    candidates = np.array([0, 3]), np.arange(3, dtype=np.int32)
    nothing = np.zeros(n, dtype=np.int32)
    found = draw_tags(*everyone, nothing.astype(np.int64), nothing, *candidates, laws, 2.0, KEY)
    law = np.exp([-2.0 * naive.divergence([1.0, 0.0], list(b)) for b in laws.tolist()])
    assert np.bincount(found) / n == pytest.approx(law / law.sum(), abs=5 * (0.25 / n) ** 0.5)


def test_gibbs_finds_two_circles_and_counts_every_triple_once() -> None:
    rows = distinct(from_ids(*(pl.Series(c) for c in circles()[:2]), tag=pl.Series(circles()[2])))
    found = gibbs(rows, 2, 50, 0.5, 0.01, seed=1)
    assert found.tag_counts.sum() == found.resource_counts.sum() == len(rows)
    assert found.tag_counts.sum(axis=1).tolist() == np.bincount(rows.tag).tolist()
    assert np.all(np.sort(found.tag_counts, axis=1)[:, 0] == 0)
    assert gibbs(rows, 2, 50, 0.5, 0.01, seed=1).topic.tolist() == found.topic.tolist()


def circles() -> tuple[list[int], list[int], list[str]]:
    rows = [(u, 10 * (u % 2) + i, f"{u % 2}-{t}") for u in range(8) for i in range(6) for t in range(4)]
    user, item, tag = zip(*rows, strict=True)
    return list(user), list(item), list(tag)


def test_a_chunk_gets_the_topics_of_its_own_people(plan: PrivateTopics, world: Interactions) -> None:
    some = world.take_users(np.array([3, 70, 90])).compact()
    rows, topic = plan.drawn.of(some)
    assert rows.equals(distinct(some))
    whole = {row: int(z) for row, z in zip(plan.drawn.rows.frame().rows(), plan.drawn.topic, strict=True)}
    assert [whole[row] for row in rows.frame().rows()] == topic.tolist()


def test_the_noisy_model_is_its_formula(world: Interactions) -> None:
    mechanism = PriTop(topics=10, sweeps=5, epsilon=0.5)
    counts = np.array([[3, 0], [0, 40]])
    above, share = mechanism._noisy(counts, counts.sum(axis=0), 0.01, 2, seeded(3))
    noise = seeded(3).generator().laplace(scale=4.0, size=(2, 2))
    assert above == pytest.approx(np.maximum(counts + noise, 0) + 0.01)
    assert share == pytest.approx(above / (np.maximum(counts.sum(axis=0) - noise, 0) + 0.02))
    none = planned(replace(mechanism, noise="none"), world)
    smooth = none.model.tag_counts + 0.01
    assert none.laws == pytest.approx(smooth / smooth.sum(axis=1, keepdims=True))


def test_weights_add_the_likeliest_and_take_away_the_least_likely(world: Interactions, plan: PrivateTopics) -> None:
    mechanism = PriTop(topics=10, sweeps=20, replaced="none")
    made = mechanism.select(world, plan, seeded(2))
    rows, topic = plan.drawn.of(world)
    noise = mechanism._weights(rows, topic, rows.keys("user"), seeded(2).derive("weights"))
    assert noise.std() == pytest.approx(4 * 2**0.5, rel=0.1)
    for u in range(0, 120, 7):
        before, after, added = [], made.before[(made.user == u) & made.hers], made.before[(made.user == u) & ~made.hers]
        hers = set(rows.item[rows.user == u].tolist())
        assert set(made.item[made.user == u].tolist()) <= hers
        wanted: list[int] = []
        for z in range(10):
            mine = np.asarray(rows.tag)[(rows.user == u) & (topic == z)]
            likely = plan.likely[mine, z]
            before += mine[np.argsort(likely, kind="stable")[max(-int(noise[u, z]), 0) :]].tolist()
            wanted += np.argsort(-plan.likely[:, z], kind="stable")[: max(int(noise[u, z]), 0)].tolist()
        assert sorted(added.tolist()) == sorted(wanted)
        assert sorted(after.tolist()) == sorted(before)


def test_the_choices_do_what_they_say(world: Interactions, plan: PrivateTopics) -> None:
    small = PriTop(topics=10, sweeps=20)
    hers = replace(small, weights="none").select(world, plan, seeded(2))
    assert hers.hers.all() and len(hers.user) == len(distinct(world))
    support = replace(small, weights="support").select(world, plan, seeded(2))
    rows, topic = plan.drawn.of(world)
    used = {(int(u), int(z)) for u, z in zip(rows.user, topic, strict=True)}
    assert np.count_nonzero(~support.hers) < np.count_nonzero(~small.select(world, plan, seeded(2)).hers)
    assert len(used) < 1200
    assert replace(small, added="nowhere").select(world, plan, seeded(2)).hers.all()
    only = replace(small, replaced="hers").select(world, plan, seeded(2))
    assert np.all(only.before[~only.hers] == only.after[~only.hers])
    starts, candidates = replace(small, candidates="likeliest")._candidates(plan)
    assert sorted(candidates.tolist()) == list(range(len(plan.laws)))
    assert np.all(np.argmax(plan.laws[candidates], axis=1) == np.repeat(np.arange(10), np.diff(starts)))


def test_the_promise_is_refuted() -> None:
    promise = PriTop(epsilon=0.5).guarantee(None)  # type: ignore[arg-type]
    assert (promise.status, promise.epsilon, promise.unit) == ("refuted", 0.5, "record")


def test_audit_a_tag_of_one_person_tells_that_her_record_exists(world: Interactions) -> None:
    """The published algorithm: such tags come out nearly always, and never if her record is not there."""
    once = distinct(world)
    assert once.tags is not None
    alone = np.flatnonzero(np.bincount(once.tag, minlength=once.n_tags) == 1)
    assert len(alone) > 100
    tags = once.tags.gather(alone)
    seen = [tags.is_in(_pritop(once, seed).data.tags.implode()).to_numpy() for seed in range(3)]
    low, _ = clopper_pearson(int(sum(s.sum() for s in seen[:1])), len(alone), 0.999)
    assert low > 0.9  # so no (epsilon, delta) holds with delta below that
    gone = int(alone[seen[0]][0])
    without = _pritop(once.take(once.tag != gone), 0).data
    assert not without.tags.is_in([once.tags[gone]]).any()


def test_the_general_audit_exceeds_the_claim() -> None:
    found = audit(PriTop(topics=3, sweeps=5), runs=200, seed=1)
    assert found.verdict == "exceeded" and found.bound.lower > 1


def test_audit_every_released_link_is_a_true_post(world: Interactions) -> None:
    made = _pritop(world, 0)
    whose = made.id_map.join(made.data.frame(), left_on="released", right_on="user")
    posts = set(world.frame().select("user", "item").rows())
    assert set(whose.select("original", "item").rows()) <= posts


def _pritop(data: Interactions, seed: int) -> Any:
    return release(data, PriTop(topics=10, sweeps=20), seed=seed)


@pytest.mark.parametrize("drop", ["least", "entropy"])
@pytest.mark.parametrize("keep", [0.8, 0.6])
def test_suppression_keeps_a_share_and_drops_by_topic(drop: str, keep: float) -> None:
    user, topic = np.repeat([0, 1], [10, 5]), np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 0, 1, 1, 2, 2])
    rows = from_ids(pl.Series(user), pl.Series(np.arange(15)), tag=pl.Series([f"t{i % 4}" for i in range(15)]))
    plan = Topics(distinct(rows), topic, 3)
    made = TagSuppression(keep=keep, drop=drop).mask(rows, plan, seeded(1)).rows
    left = [np.bincount(topic[made.item[made.user == u]], minlength=3).tolist() for u in (0, 1)]
    first = {
        ("least", 0.8): [[5, 3, 0]],
        ("least", 0.6): [[5, 1, 0]],
        ("entropy", 0.8): [[3, 3, 2]],
        ("entropy", 0.6): [[2, 2, 2]],
    }[drop, keep]
    assert left[0] in first
    assert sum(left[1]) == round(5 * keep)
    if drop == "least":
        assert left[1][0] == 0


def test_released_triples_are_true_under_suppression(world: Interactions) -> None:
    made = release(world, TagSuppression(topics=10, sweeps=10), seed=1)
    back = returned(trial(world, made.data, id_map=made.id_map))
    assert set(back.frame().rows()) <= set(distinct(world).frame().rows())
    assert len(back) == pytest.approx(0.8 * len(distinct(world)), rel=0.02)


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("pritop:topics=1", "pritop: parameter topics must be >= 2, not 1"),
        ("pritop:epsilon=0", "pritop: parameter epsilon must be > 0, not 0.0"),
        ("pritop:epsilon=-1", "pritop: parameter epsilon must be > 0, not -1.0"),
        ("pritop:noise=some", "pritop: parameter noise must be one of cells, tables, none, not some"),
        ("tag-suppression:keep=0", "tag-suppression: parameter keep must be in (0, 1], not 0.0"),
        ("tag-suppression:topics=1", "tag-suppression: parameter topics must be >= 2, not 1"),
    ],
)
def test_bad_parameters(spec: str, line: str) -> None:
    with pytest.raises(RecveilError) as refused:
        parse(spec)
    assert str(refused.value) == line


@pytest.mark.parametrize("name", ["pritop", "tag-suppression"])
def test_bad_data(name: str) -> None:
    few = from_ids(pl.Series([1, 1, 2]), pl.Series([1, 2, 1]), tag=pl.Series(["a", "b", "a"]))
    with pytest.raises(RecveilError, match=r"topics must be at most the number of tags \(2\), not 100"):
        release(few, parse(name))
    with pytest.raises(RecveilError, match="needs a tag column"):
        release(sample("films?users=20"), parse(name))


def test_a_user_with_one_post_and_tags_in_any_script() -> None:
    tags = ["Ελλάδα", "ελλάδα", " jazz", "jazz", "日本", "ß"]
    rows = from_ids(pl.Series([1, 1, 1, 2, 2, 3]), pl.Series([1, 1, 2, 1, 3, 3]), tag=pl.Series(tags))
    made = release(rows, PriTop(topics=2, sweeps=3, epsilon=1.0), seed=0)
    assert made.data.n_users == 3
    assert set(made.data.tags) <= set(tags)


def test_the_command_promises_nothing(recveil: Callable[..., Any]) -> None:
    done = recveil("release", "sample:tags?users=60", "--with", "pritop:topics=5,sweeps=5", "-o", "out")
    assert "guarantee (refuted)" in done.stdout
    assert "is protected" not in done.stdout + done.stderr
    recveil("verify", "out")


def test_a_missing_extra_is_one_line(recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    done = recveil("release", "sample:tags?users=50", "--with", "pritop:topics=5", "-o", "out", code=1)
    assert done.stderr.splitlines()[-1] == "recveil: tomotopy is not installed; pip install 'recveil[tags]'"


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("folder", ["hetrec-movielens", "hetrec-lastfm"])
def test_pritop_is_worth_less_than_suppression(real_data: Path, folder: str) -> None:
    frame = pl.read_parquet(real_data / folder / "tags.parquet")
    data = distinct(from_ids(frame["user"], frame["resource"], tag=frame["tag"].cast(pl.String)))
    train, test = leave_one_post_out(data, np.random.default_rng(0))

    def recall(spec: str) -> float:
        made = release(train, parse(spec), seed=1)
        return float(judge(FolkRank().fit(returned(trial(train, made.data, id_map=made.id_map))), test)[:, 9].mean())

    assert recall("pritop") < 0.05
    assert recall("tag-suppression:sweeps=50") > max(recall("pritop:weights=support,sweeps=50"), 0.4)
