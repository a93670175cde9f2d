"""The audit of epsilon: it finds planted bugs, lets honest mechanisms pass, and its bound is close where it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.attacks.epsilon import judge, lower_bound
from recveil.data import Interactions, from_ids
from recveil.desk.audit import audit, neighbours, person, toy
from recveil.dp.noise import draw, laplace
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee
from recveil.mechanism import Drawn, Public, Synthesis
from recveil.mechanisms import MECHANISMS
from recveil.randomness import Source


@dataclass(frozen=True)
class Favourites(Synthesis):
    """Each person counts for one item; the noisy counts become rows. Honest at its defaults."""

    name = "favourites"
    epsilon: float = 1.0
    noise_for: float = 1.0  # the epsilon that the noise is made for, as a multiple of the claimed one
    items_each: int = 1
    observed_only: bool = False

    def guarantee(self, public: Public) -> Guarantee:
        return Guarantee("For tests.", "proved", self.epsilon, 0.0, "user", "add or remove a user", None, "tests")

    def card(self) -> str:
        return "A mechanism for tests."

    def count(self, chunk: Interactions, published: tuple[Any, ...], public: Public) -> Any:
        rows = chunk.take(np.arange(len(chunk)) - chunk.starts()[chunk.user] < self.items_each)
        return np.bincount(rows.item, minlength=chunk.n_items)

    def publish(self, counts: Any, published: tuple[Any, ...], public: Public, source: Source) -> Any:
        noisy = counts + draw(laplace(1 / Fraction(self.epsilon * self.noise_for)), len(counts), source)
        return {"items": np.where(counts > 0, np.maximum(noisy, 1), 0) if self.observed_only else np.maximum(noisy, 0)}

    def draw(self, published: tuple[Any, ...], public: Public, source: Source) -> Drawn:
        item = np.repeat(np.arange(len(public.items), dtype=np.int32), published[0]["items"])
        if not len(item):
            raise RecveilError("no rows")
        user = np.arange(len(item), dtype=np.int32)
        return Drawn(Interactions(user, item, pl.Series(user), public.items))


HONEST = Favourites()
BUGS = {
    "claims half its epsilon": replace(HONEST, noise_for=2.0),
    "sensitivity off by two": replace(HONEST, items_each=2),
    "leaks the vocabulary": replace(HONEST, observed_only=True),
}


def test_an_honest_mechanism_passes() -> None:
    found = audit(HONEST, runs=700, seed=1)
    assert found.verdict == "holds"
    assert 0.3 < found.bound.lower <= 1.0
    assert set(found.record()) >= {"mechanism", "claimed", "status", "lower", "runs", "verdict"}


@pytest.mark.parametrize("mechanism", BUGS.values(), ids=BUGS)
def test_planted_bugs_are_caught(mechanism: Favourites) -> None:
    found = audit(mechanism, runs=700, seed=1)
    assert found.verdict == "broken", found.bound


def response(bit: int, seed: int, epsilon: float = 1.0) -> int:
    honest = np.random.default_rng(seed).random() < 1 / (1 + np.exp(-epsilon))
    return bit if honest else 1 - bit


def test_randomised_response_on_one_bit() -> None:
    found = lower_bound(response, (1, 0), lambda answer: {"answer": answer}, runs=20_000)
    assert 0.9 <= found.lower <= 1.0


def test_the_bound_covers() -> None:
    """At 90% confidence at most about one audit in ten may exceed the truth, with several statistics tried."""
    rng = np.random.default_rng(5)
    p, wrong = 1 / (1 + np.exp(-1.0)), 0
    for _ in range(150):
        one, other = (np.column_stack([rng.random(400) < q, rng.normal(size=(400, 3))]) for q in (p, 1 - p))
        wrong += judge(one.astype(float), other, list("abcd"), delta=0.0, confidence=0.9).lower > 1.0
    assert wrong <= 24


def test_delta_is_respected() -> None:
    """A mechanism that gives everything away with probability delta is (0, delta)-private."""

    def leaky(bit: int, seed: int) -> int:
        return bit + 1 if np.random.default_rng(seed).random() < 0.1 else 0

    look = lambda answer: {"answer": answer, "one": answer == 1}  # noqa: E731
    assert lower_bound(leaky, (1, 0), look, runs=2000, delta=0.1).lower < 0.3
    assert lower_bound(leaky, (1, 0), look, runs=2000, delta=0.0).lower > 2


def test_neighbours_differ_in_one_tag_of_a_post() -> None:
    data = from_ids(pl.Series([1, 2]), pl.Series([1, 2]), tag=pl.Series(["a", "b"]))
    one, other = (side.frame() for side in neighbours(data, person(data), "tag"))
    assert one.select("user", "item").equals(other.select("user", "item"))
    assert (one["tag"] != other["tag"]).sum() == 1


@pytest.mark.parametrize(("unit", "rows"), [("user", 4), ("session", 4), ("record", 1), ("bit", 1)])
def test_neighbours_differ_in_the_protected_unit(unit: str, rows: int) -> None:
    data = toy(HONEST)
    one, other = neighbours(data, person(data), unit)
    assert len(one) - len(other) == rows
    with pytest.raises(RecveilError, match="no canary for the unit planet"):
        neighbours(data, person(data), "planet")


def test_bad_requests() -> None:
    with pytest.raises(RecveilError, match="at least 20 runs"):
        audit(HONEST, runs=3)
    with pytest.raises(RecveilError, match="confidence"):
        audit(HONEST, runs=30, confidence=1.0)


def test_command(recveil: Callable[..., Any]) -> None:
    found = recveil("audit", "pseudonymise", "--runs", 40, "--seed", 1, json_answer=True)
    assert found["claimed"] is None
    assert found["verdict"] == "no claim"
    assert found["lower"] > 1  # new ids hide nobody


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_proved_epsilon_survives(name: str) -> None:
    from test_contracts import mechanism

    made = mechanism(name)
    data = toy(made)
    promise = made.guarantee(Public(data.kind, data.unit, data.items, data.tags, True))
    if promise.status != "proved":
        pytest.skip(f"{name} has no proved epsilon")
    assert audit(made, runs=100, confidence=0.999, seed=3).verdict == "holds"
