"""Networks as referees, with torch: they learn an order that is there, and none that is not."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_next_item import by_referee, parts, permuted, reversed_order, rounds, trial

torch = pytest.importorskip("torch")

from recveil.errors import RecveilError  # noqa: E402
from recveil.evaluation.metrics.next_item import asked_of, neural  # noqa: E402
from recveil.evaluation.recommenders import SEQUENCERS, networks  # noqa: E402
from recveil.measurement import measure  # noqa: E402

pytestmark = pytest.mark.extras
NAMES = ("sasrec", "gru4rec")


def small(name: str) -> Any:
    chosen: Any = SEQUENCERS[name]
    return replace(chosen, length=20, width=32, rounds=12, patience=3)


SMALL = tuple(small(name) for name in NAMES)


def test_networks_learn_the_rounds_and_nothing_from_permuted_items() -> None:
    found = measure(trial(), {"neural": lambda t, rng: neural(t, rng, SMALL)}, 0)
    reach = {(m.params["referee"], m.params["trained_on"]): m.value for m in found if m.name == "next hit rate"}
    assert all(reach[name, "real"] == reach[name, "release"] > 0.9 for name in NAMES)
    split = parts(rounds())
    chance = measure(trial(permuted(split.train)), {"neural": lambda t, rng: neural(t, rng, SMALL)}, 0)
    assert all(m.high < 0.1 for m in by_referee(chance, "sequence lift").values())
    backwards = measure(trial(reversed_order(split.train)), {"neural": lambda t, rng: neural(t, rng, SMALL)}, 0)
    assert all(m.high < 0.9 for m in by_referee(backwards, "sequence lift").values())


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_scores_and_leaves_chance_alone(name: str) -> None:
    split = parts(rounds(80))
    streams, _ = asked_of(split.query, split.result)
    before = torch.random.get_rng_state()
    first, second = (replace(small(name), rounds=1).fit(split.train, 3).scores(streams) for _ in range(2))
    assert np.array_equal(first, second)
    assert torch.equal(before, torch.random.get_rng_state())


def test_streams_of_one_item_teach_nothing() -> None:
    train = parts(rounds(80)).train
    with pytest.raises(RecveilError, match="no person has two items"):
        small("sasrec").fit(train.take(np.unique(train.user, return_index=True)[1]), 0)


def test_very_many_items_are_told_from_a_sample() -> None:
    split = parts(rounds())
    rows = split.train.ordered()
    chosen = networks.NetworkSettings("attention", length=20, width=32, rounds=10, whole=10, negatives=30)
    made = networks.learn(rows.starts(), rows.item, rows.n_items, chosen, 0)
    streams, _ = asked_of(split.query, split.result)
    best = made.scores(streams.item, streams.begin, streams.asked).argsort(1)[:, -5:]
    assert np.mean((best == streams.item[streams.asked][:, None]).any(1)) > 0.8


def test_without_memory_on_the_gpu_it_is_trained_on_the_cpu_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, there = networks.learn_on, torch.cuda.is_available

    def full(device: str, *rest: Any) -> Any:
        if device == "cuda":
            raise torch.OutOfMemoryError("no memory")
        with monkeypatch.context() as truth:  # torch itself asks, too
            truth.setattr(torch.cuda, "is_available", there)
            return slow(device, *rest)

    monkeypatch.setattr(networks, "learn_on", full)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    referees = [replace(small("gru4rec"), rounds=1)]
    found = measure(trial(), {"neural": lambda t, rng: neural(t, rng, referees)}, 0)
    assert {m.note for m in found if m.name == "next ndcg" and m.params["referee"] == "gru4rec"} == {networks.NO_MEMORY}


def test_only_the_latest_items_are_read() -> None:
    item = np.arange(10)
    read, sizes = networks.padded(item, np.array([0, 7]), np.array([6, 9]), 4, 99)
    assert read.tolist() == [[2, 3, 4, 5], [7, 8, 99, 99]] and sizes.tolist() == [4, 2]


def test_a_rival_by_dp_sgd_counts_each_person_with_norm_one_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks" / "open"))
    pytest.importorskip("dp_accounting")
    rival = import_module("gpu")
    recipe = rival.Recipe(length=8, width=16, epsilon=1.0, delta=1e-5, people=30, batch=10, selection=5.0, epochs=3)
    sizes = np.random.default_rng(0).integers(1, 8, 30)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    item = np.random.default_rng(1).integers(0, 12, starts[-1]).astype(np.int64)
    rows = torch.from_numpy(rival.framed(starts, item, 12, 8))
    net = networks.Attention(13, recipe.settings())
    for part in net.parameters():
        torch.nn.init.normal_(part)  # gradients far above 1
    total, values = rival.clipped(net, 13), {name: p.detach() for name, p in net.named_parameters()}

    def norm(a: Any, b: Any) -> float:
        return float(torch.stack([(a[name] - b[name]).norm() for name in values]).norm())

    everybody = total(values, rows)
    for person in range(5):
        others = total(values, rows[[k for k in range(30) if k != person]])
        assert 0.99 < norm(everybody, others) < 1.001
    spent = {"epochs": 3, "people": 30, "batch": 10, "selection": 5.0, "delta": 1e-5}
    noise = import_module("accounting").noise_for(epsilon=1.0, **spent)
    assert import_module("accounting").noise_for(epsilon=4.0, **spent) < noise
    made = rival.trained(starts, item, 12, replace(recipe, noise=noise), 0, "cpu")
    begins, drawn = rival.drawn(made, 12, recipe, 20, 0, "cpu")
    assert len(begins) == 21 and begins[-1] == len(drawn) and drawn.max() < 12 and np.diff(begins).min() >= 1
