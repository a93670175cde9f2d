"""The audit of epsilon: it finds planted bugs, lets honest mechanisms pass, and its bound is close where it can be."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from epsilons import lower_bound

from recveil.data import Interactions, from_ids
from recveil.dp import vocabulary
from recveil.dp.noise import Law, draw, gaussian, laplace
from recveil.errors import RecveilError
from recveil.evaluation.attacks import one_run
from recveil.evaluation.attacks.epsilon import attainable, judge
from recveil.evaluation.audit import audit, neighbours, person, toy
from recveil.evaluation.audit.one_run import audit_in_one_run
from recveil.evaluation.audit.selecting import Selection, audit_selection
from recveil.evaluation.audit.shared_noise import SharedNoise
from recveil.guarantee import Guarantee
from recveil.mechanism import Drawn, PublicInfo, Synthesis
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.spec import parse
from recveil.randomness import Source
from recveil.releases.catalogue import Catalogue


@dataclass(frozen=True)
class Favourites(Synthesis):
    """Each person counts for one item; the noisy counts become rows. Honest at its defaults."""

    name = "favourites"
    epsilon: float = 1.0
    noise_for: float = 1.0  # the epsilon that the noise is made for, as a multiple of the claimed one
    items_each: int = 1
    observed_only: bool = False

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return Guarantee("For tests.", "proved", self.epsilon, 0.0, "user", "add or remove a user", None, "tests")

    def card(self) -> str:
        return "A mechanism for tests."

    def count(self, chunk: Interactions, published: tuple[Any, ...], public: PublicInfo) -> Any:
        rows = chunk.take(np.arange(len(chunk)) - chunk.starts()[chunk.user] < self.items_each)
        return np.bincount(rows.item, minlength=chunk.n_items)

    def publish(self, counts: Any, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Any:
        noisy = counts + draw(laplace(1 / Fraction(self.epsilon * self.noise_for)), len(counts), source)
        return {"items": np.where(counts > 0, np.maximum(noisy, 1), 0) if self.observed_only else np.maximum(noisy, 0)}

    def draw(self, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Drawn:
        item = np.repeat(np.arange(len(public.items), dtype=np.int32), published[0]["items"])
        if not len(item):
            raise RecveilError("no rows")
        user = np.arange(len(item), dtype=np.int32)
        return Drawn(Interactions(user, item, pl.Series(user), public.items))


@pytest.fixture(autouse=True)
def rows_of_few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are made of what was published: tests need not draw them a hundred times."""
    monkeypatch.setattr("recveil.evaluation.audit.DRAWN", 10)


HONEST = Favourites()
BUGS = {
    "claims half its epsilon": replace(HONEST, noise_for=2.0),
    "sensitivity off by two": replace(HONEST, items_each=2),
    "leaks the vocabulary": replace(HONEST, observed_only=True),
}


def test_an_honest_mechanism_passes() -> None:
    found = audit(HONEST, runs=500, seed=1)
    assert found.verdict == "holds"
    assert 0.3 < found.bound.lower <= 1.0
    assert set(found.record()) >= {"mechanism", "claimed", "status", "lower", "runs", "verdict"}


@pytest.mark.parametrize("mechanism", BUGS.values(), ids=BUGS)
def test_planted_bugs_are_caught(mechanism: Favourites) -> None:
    found = audit(mechanism, runs=500, seed=1)
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
    found = recveil("audit", "pseudonymise", "--runs", 80, "--seed", 1, json_answer=True)
    assert found["claimed"] is None
    assert found["verdict"] == "no claim"
    assert found["lower"] > 1  # new ids hide nobody


# --- power: what the audit must see ---------------------------------------------------------------------------

PROVED = {
    "dp-streams": "dp-streams:epsilon=2,delta=1e-4",
    "dp-tags": "dp-tags:epsilon=2",
    "dp-tags-user": "dp-tags:epsilon=2,delta=1e-4,unit=user",
    "dp-post-tags": "dp-post-tags:epsilon=2",
    "mask": "mask:p=0.8",
    "dp-ratings": "dp-ratings:epsilon=2,delta=1e-4,scale=1..5",
}


def proved_names() -> set[str]:
    from test_contracts import fitting, mechanism

    found = set()
    for name in MECHANISMS:
        data = fitting(name)
        made = parse("mask:p=0.8") if name == "mask" else mechanism(name)
        if made.guarantee(PublicInfo(data.kind, data.unit, data.items, data.tags, True, ("tags",))).status == "proved":
            found.add(name)
    return found


def test_the_list_of_proved_mechanisms_is_whole() -> None:
    assert proved_names() == {spec.partition(":")[0] for spec in PROVED.values()}


def scale_noise(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """All noise of the package times a factor: integers, flips, and answers that are drawn."""
    from recveil.dp import noise
    from recveil.kernels import draws, flips

    drawn, table, below = noise.draw, flips.skip_table, draws.below_per_group

    def less(*args: Any, **more: Any) -> Any:
        return np.trunc(drawn(*args, **more) * factor).astype(np.int64)

    for module in [m for name, m in sys.modules.items() if name.startswith("recveil")]:
        if getattr(module, "draw", None) is drawn:
            monkeypatch.setattr(module, "draw", less)
    monkeypatch.setattr(flips, "skip_table", lambda k: table(max(1, int(k * factor))))

    def kinder(starts: Any, keys: Any, bounds: Any, key: Any) -> Any:
        z = below(starts, keys, bounds, key)
        return np.where(np.arange(len(z)) % 2 < 2 * factor, z, 0) if factor else 0 * z

    monkeypatch.setattr(draws, "below_per_group", kinder if factor < 0.5 else lambda *a: halved(below(*a)))


def halved(z: Any) -> Any:
    """Half of the answers are the truth, whatever was drawn."""
    return np.where(np.arange(len(z)) % 2, z, 0)


LONG = {"dp-ratings"}
HALVED_LONG = {"dp-streams", "dp-tags-user", *LONG}  # one run with halved noise is quick, and tested below


def cases(long: set[str], *more: float) -> list[Any]:
    return [pytest.param(name, *more, marks=[pytest.mark.slow] * (name in long)) for name in PROVED]


@pytest.mark.parametrize(("name", "factor"), [*cases(LONG, 0.0), *cases(HALVED_LONG, 0.5)])
def test_noise_that_is_off_or_halved_is_seen(name: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    scale_noise(monkeypatch, factor)
    found = audit(parse(PROVED[name]), runs=20, seed=3)
    assert found.verdict == "broken", found.record()
    assert found.short
    once = audit_in_one_run(parse(PROVED[name]), seed=3)
    assert once.verdict == "broken", once.record()


@pytest.mark.parametrize("name", ["dp-tags", "mask"])
def test_noise_that_is_off_is_seen_by_the_bound_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scale_noise(monkeypatch, 0.0)
    found = audit(parse(PROVED[name]), runs=150, seed=3)
    assert found.bound.lower > 2
    assert found.bound.lower == pytest.approx(found.bound.attainable, abs=0.5)


@pytest.mark.parametrize("name", cases(LONG))
def test_every_proved_epsilon_survives(name: str) -> None:
    runs = 20 if name in ("dp-streams", "dp-tags-user", "dp-ratings") else 120
    found = audit(parse(PROVED[name]), runs=runs, seed=3)
    assert found.verdict == ("untested" if runs == 20 else "holds"), found.record()
    assert not found.short and not found.excess
    assert (found.bound.attainable > 2) == (runs > 20)
    assert all(0.7 < share < 1.4 for share in (found.noise or {}).values())
    once = audit_in_one_run(parse(PROVED[name]), seed=3)
    assert once.verdict == "holds", once.record()
    assert once.found.attainable > 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dp-streams", "dp-tags-user"])
def test_every_proved_epsilon_survives_at_length(name: str) -> None:
    assert audit(parse(PROVED[name]), runs=300, seed=3).verdict == "holds"


def test_the_default_number_of_runs_can_break_epsilon_4() -> None:
    runs = inspect.signature(audit).parameters["runs"].default
    assert attainable(runs, 20, 1e-6, 1 - 0.05 / 6) > 4  # three canaries, rows and tables judged apart


def test_what_cannot_be_tested_is_said_to_be_untested() -> None:
    found = audit(parse("dp-streams:epsilon=0.01,delta=1e-6"), runs=20, seed=1)
    assert (found.refused, found.verdict) == (1.0, "untested")
    assert audit(parse("mask:p=0.999"), runs=20, seed=1).verdict == "untested"


def test_a_contribution_that_is_not_bounded_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person with thousands of items moves the tables farther than the guarantee reckons with."""
    from recveil.kernels import baskets

    def unbounded(_: Any, item: Any, n: int, unit: int) -> Any:
        return np.bincount(item, minlength=n).astype(np.int64) * (unit // 4)

    monkeypatch.setattr(baskets, "count_items", unbounded)
    found = audit(parse(PROVED["dp-streams"]), runs=20, seed=1)
    assert (found.verdict, found.short) == ("broken", ())
    assert found.excess > 10


@dataclass(frozen=True)
class Bells(Favourites):
    """Its Gaussian noise is what it says, and not enough for the epsilon that it claims (about 2.6 at this delta)."""

    name = "bells"

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return Guarantee("For tests.", "proved", 1.0, 1e-3, "user", "add or remove a user", None, "tests")

    def laws(self, public: PublicInfo) -> dict[str, Law]:
        return {"items": gaussian(Fraction(1000**2 * 16, 9))}  # one person is 1000, three quarters of a deviation

    def count(self, chunk: Interactions, published: tuple[Any, ...], public: PublicInfo) -> Any:
        return 1000 * super().count(chunk, published, public)

    def publish(self, counts: Any, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Any:
        return {"items": counts + draw(self.laws(public)["items"], len(counts), source)}

    def draw(self, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Drawn:
        return super().draw(({"items": np.maximum(published[0]["items"] // 1000, 1)},), public, source)


def test_an_estimate_above_the_claim_is_suspect(recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """No bound refutes it after so few runs, and no noise is missing: a model says so, and no more is said."""
    monkeypatch.setitem(MECHANISMS, "bells", Bells)
    found = recveil("audit", "bells", "--runs", 200, "--seed", 2, json_answer=True)
    assert found["verdict"] == "suspect", found
    assert found["lower"] < 1 < found["estimate"] < 3 and found["attainable"] > 1
    assert (found["short_of_noise"], found["excess"]) == ([], 0.0)
    said = recveil("audit", "bells", "--runs", 200, "--seed", 2).stdout
    assert "if the noise is Gaussian: at least" in said and "verdict: suspect" in said


# --- noise that two tables share -------------------------------------------------------------------------------

ONE_STREAM = {"order": "pairs", "item": "tag", "user_tag": "item_tag", "like": "have", "products": "pairs"}


def one_stream_for_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table has all of its noise; but whoever knows that of one knows that of the other."""
    honest = Source.derive
    monkeypatch.setattr(Source, "derive", lambda self, *n: honest(self, *(ONE_STREAM.get(str(x), x) for x in n)))


@pytest.mark.parametrize(
    ("name", "pair"), [("dp-streams", "pairs and transitions"), ("dp-ratings", "pairs and products")]
)
def test_tables_that_share_their_noise_are_seen_in_one_run(
    name: str, pair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_stream_for_two(monkeypatch)
    once = audit_in_one_run(parse(PROVED[name]), seed=3)
    assert (once.verdict, once.watch.short) == ("broken", []), once.record()
    assert pair in once.record()["shared_noise"]


@pytest.mark.parametrize(
    ("name", "pair"),
    [("dp-streams", "pairs and transitions"), ("dp-tags", "tag and item"), ("dp-tags-user", "tag and item")],
)
def test_tables_that_share_their_noise_are_seen(name: str, pair: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one_stream_for_two(monkeypatch)
    found = audit(parse(PROVED[name]), runs=20, seed=3)
    assert (found.verdict, found.short) == ("broken", ()), found.record()
    assert pair in found.shared


def test_noise_that_comes_again_in_another_release_or_cell_is_seen() -> None:
    rng = np.random.default_rng(1)
    again, twice, honest = SharedNoise(), SharedNoise(), SharedNoise()
    kept = rng.normal(size=40)
    for _ in range(60):
        for watched, noise in (
            (again, kept),
            (twice, np.tile(rng.normal(size=40), 2)),
            (honest, rng.normal(size=int(rng.integers(30, 80)))),
        ):
            watched.add("items", noise)
            watched.begin()
    assert again.found == ["items with itself", "items and items of another release"]
    assert twice.found == ["items with itself"]
    assert honest.found == []


@pytest.mark.parametrize("heavy", [False, True])
def test_independent_noise_is_never_taken_for_shared(heavy: bool) -> None:
    """A thousand audits of a small and a larger table, with the noise of either law."""
    rng = np.random.default_rng(2)
    draw_some = (lambda n: rng.laplace(size=n) / np.sqrt(2)) if heavy else (lambda n: rng.normal(size=n))
    for _ in range(1000):
        watched = SharedNoise()
        for _ in range(3):
            watched.add("few", draw_some(5))
            watched.add("more", draw_some(60))
            watched.begin()
        assert watched.found == []


def test_an_estimate_joins_what_the_tables_say_together() -> None:
    """Two scores that are noise by themselves, and the same noise: their difference tells."""
    from recveil.evaluation.audit import _estimate
    from recveil.evaluation.audit.watching import Watch

    rng = np.random.default_rng(4)
    watch = Watch({"one": gaussian(Fraction(100)), "other": gaussian(Fraction(100))})
    looks: Any = ([], [])
    for side in (0, 1):
        for _ in range(200):
            noise, little = rng.normal(0, 5), rng.normal(0, 0.01)
            looks[side].append({"table one": noise + (1 - side), "table other": noise + little})
    joint = _estimate(watch, looks, 1e-3, 0.95)
    assert joint is not None and joint > 50
    for side in looks:
        for look in side:
            look["table other"] = rng.normal(0, 5)
    alone = _estimate(watch, looks, 1e-3, 0.95)
    assert alone is not None and alone < 1


# --- sessions ----------------------------------------------------------------------------------------------------


def in_sessions() -> Interactions:
    data = toy(HONEST)
    return replace(data, session=(np.arange(len(data)) % 6 // 3).astype(np.uint64))


def test_data_with_sessions_get_a_verdict(recveil: Callable[..., Any], tmp_path: Path) -> None:
    data = in_sessions()
    found = audit(parse(PROVED["dp-streams"]), data, runs=30, seed=3)
    assert (found.verdict, found.short, found.shared, found.excess) == ("untested", (), (), 0.0), found.record()
    assert "sessions" in (found.noise or {})  # the table of how many sessions people have is looked at, too
    assert found.selection is not None and 0.2 < found.selection.passing <= 1
    once = audit_in_one_run(parse(PROVED["dp-streams"]), data, canaries=60, seed=3)
    assert once.verdict == "holds" and "sessions" in once.record()["noise"]
    data.frame().write_csv(tmp_path / "s.csv")
    options = ("--data", "s.csv", "--columns", "session=session", "--runs", 20, "--seed", 1)
    assert recveil("audit", PROVED["mask"], *options, json_answer=True)["verdict"] == "untested"


def test_sessions_that_are_not_bounded_together_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pair in thirty sessions, each within the bound by itself."""
    from recveil.kernels import baskets
    from recveil.mechanisms.dp_streams import counting
    from recveil.views.sessions import sessions

    def each_by_itself(chunk: Interactions, *_: Any) -> Any:
        s = sessions(chunk)
        return baskets.count_items(s.starts, s.item, chunk.n_items, counting.UNIT)

    monkeypatch.setattr("recveil.mechanisms.dp_streams.item_counts", each_by_itself)
    found = audit(parse(PROVED["dp-streams"]), in_sessions(), runs=20, seed=3)
    assert found.verdict == "broken" and found.excess > 1, found.record()


# --- the selection of ids -------------------------------------------------------------------------------------

SELECTING = {
    "dp-streams": "dp-streams:epsilon=2,delta=1e-3",
    "dp-tags": "dp-tags:epsilon=2,delta=1e-3",
    "dp-tags-user": "dp-tags:epsilon=2,delta=1e-3,unit=user",
    "dp-ratings": "dp-ratings:epsilon=2,delta=1e-3,scale=1..5",
}
selecting = pytest.mark.parametrize("name", SELECTING)
quickly = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "dp-ratings")) for name in SELECTING]
)


def selection_of(name: str, runs: int = 150) -> Selection:
    made = parse(SELECTING[name])
    found = audit_selection(made, toy(made), Catalogue(), runs, 0.95, 3)
    assert found is not None
    return found


@quickly
def test_an_honest_selection_holds(name: str) -> None:
    found = selection_of(name)
    assert (found.verdict, found.short) == ("holds", ()), found.record()
    assert found.bound.lower < 2 < found.bound.attainable
    assert all(0.85 < share < 1.15 for share in found.record()["noise"].values())


@selecting
@pytest.mark.parametrize("factor", [0.0, 0.5])
def test_a_selection_without_its_noise_is_broken(name: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """All other tables have theirs."""
    honest = vocabulary.draw
    monkeypatch.setattr(vocabulary, "draw", lambda *a: np.trunc(honest(*a) * factor).astype(np.int64))
    found = selection_of(name, runs=20)
    assert (found.verdict, len(found.short) > 0) == ("broken", True), found.record()


@quickly
def test_a_selection_that_keeps_what_one_person_has_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all its noise, and a threshold of nothing."""
    for module in ("dp_streams", "dp_tags", "dp_ratings"):
        monkeypatch.setattr(f"recveil.mechanisms.{module}.threshold", lambda *_, **__: 0)
    found = selection_of(name, runs=300)
    assert found.bound.lower > 2, found.record()
    assert "canary" in found.bound.event


@quickly
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_a_threshold_that_is_too_lax_is_broken(name: str, delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred times as many ids of one person pass as delta says: no bound on epsilon shows that, at any delta."""
    honest = vocabulary.threshold
    for module in ("dp_streams", "dp_tags", "dp_ratings"):
        monkeypatch.setattr(f"recveil.mechanisms.{module}.threshold", lambda law, d, *more: honest(law, 100 * d, *more))
    made = replace(parse(SELECTING[name]), delta=delta)  # type: ignore[call-arg]
    found = audit_selection(made, toy(made), Catalogue(), 20, 0.95, 3)
    assert found is not None and (found.verdict, found.short) == ("broken", ()), found.record()
    assert found.bound.lower < 2
    assert found.passing > (70 if delta == 1e-6 else 30)
    assert found.seen_passing > 10  # by counting alone, whatever it says of its threshold


@pytest.mark.parametrize("name", ["dp-streams", "dp-ratings"])
def test_a_person_with_more_ids_than_the_bound_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "dp_streams.counting" if name == "dp-streams" else "dp_ratings"
    monkeypatch.setattr(f"recveil.mechanisms.{module}.at_most", lambda rows, *_: rows)
    found = selection_of(name, runs=20)
    assert found.verdict == "broken" and 1 < found.passing < 1.01, found.record()


def test_the_audit_says_what_became_of_the_selection(recveil: Callable[..., Any], tmp_path: Path) -> None:
    assert audit_selection(parse("mask:p=0.8"), toy(HONEST), Catalogue(), 20, 0.95, 1) is None
    assert (
        audit_selection(parse("dp-tags:epsilon=2"), toy(parse("dp-tags:epsilon=2")), Catalogue(), 20, 0.95, 1) is None
    )
    listed = Catalogue(pl.Series(range(16)))
    assert audit_selection(parse(SELECTING["dp-streams"]), toy(HONEST), listed, 20, 0.95, 1) is None
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(16))))
    options = ("audit", "dp-tags:epsilon=2,delta=1e-3", "--runs", 20, "--seed", 1)
    found = recveil(*options, json_answer=True)
    assert found["selection"]["columns"] == ["tags"]
    assert found["selection"]["verdict"] == "untested"  # so few runs could not have refuted epsilon 2
    assert "selection of tags where no list is given: untested" in recveil(*options).stdout
    broken = audit_selection(parse("dp-streams:epsilon=0.01,delta=1e-6"), toy(HONEST), Catalogue(), 20, 0.95, 1)
    assert broken is not None and broken.verdict == "untested"  # nothing is so frequent that it is kept


# --- one run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "r", "v", "delta", "p", "found"),
    [
        (1000, 600, 600, 1e-5, 0.05, 5.2704),
        (1000, 1000, 1000, 1e-5, 0.05 / 3, 5.45),
        (10_000, 10_000, 10_000, 1e-5, 0.05 / 3, 7.13),
    ],
)
def test_the_bound_of_one_run(m: int, r: int, v: int, delta: float, p: float, found: float) -> None:
    assert one_run.bound(m, r, v, delta, p) == pytest.approx(found, abs=1e-3 if r == 600 else 0.005)


def test_the_bound_of_one_run_is_that_of_its_definition() -> None:
    """Spelled out with sums of binomial terms."""
    from math import comb, exp

    for m, r, v, delta, epsilon in ((30, 20, 17, 1e-3, 1.0), (12, 12, 9, 0.0, 0.5), (50, 8, 8, 1e-2, 2.0)):
        q = 1 / (1 + exp(-epsilon))
        pmf = [comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
        expected = sum(pmf[v:]) + 2 * m * delta * max(sum(pmf[v - i : v]) / i for i in range(1, v + 1))
        assert one_run.chance(m, r, v, epsilon, delta) == pytest.approx(min(expected, 1.0))


def test_one_run_covers() -> None:
    """Randomised response with epsilon 1, m = 400: at 80% confidence at most about one bound in five exceeds it."""
    rng = np.random.default_rng(5)
    q, wrong = 1 / (1 + np.exp(-1.0)), 0
    for _ in range(200):
        inside = rng.random(400) < 0.5
        scores = np.where(rng.random(400) < q, 1.0, -1.0) * np.where(inside, 1, -1)
        wrong += one_run.judge(scores, inside, delta=0.0, confidence=0.8).lower > 1.0
    assert wrong <= 55


def test_the_epsilon_of_a_shift_is_that_of_the_gaussian_mechanism() -> None:
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    for mu, delta in ((0.25, 1e-5), (0.86, 1e-6), (2.0, 1e-3)):
        theirs = PLDAccountant().compose(GaussianDpEvent(1 / mu)).get_epsilon(delta)
        assert one_run.epsilon_of_shift(mu, delta) == pytest.approx(theirs, rel=1e-2)
    assert one_run.epsilon_of_shift(0.0, 1e-6) == 0.0


def test_one_run_of_dp_streams_at_epsilon_4_says_what_the_prototype_said() -> None:
    found = [audit_in_one_run(parse("dp-streams:epsilon=4,delta=1e-5"), seed=s) for s in range(6)]
    assert 0.8 < np.mean([f.found.lower for f in found]) < 1.5
    assert all(f.found.lower < 2 and f.verdict == "holds" for f in found)
    assert 2 < np.mean([f.estimate for f in found]) < 3.3  # type: ignore[arg-type]


def test_one_run_with_noise_off_tells_all(monkeypatch: pytest.MonkeyPatch) -> None:
    scale_noise(monkeypatch, 0.0)
    found = audit_in_one_run(parse("dp-streams:epsilon=4,delta=1e-5"), seed=1)
    assert found.found.lower == pytest.approx(5.45, abs=0.02)
    assert found.verdict == "broken"
    assert found.record()["estimate"] is None  # no number is infinite


def test_one_run_with_noise_halved_is_above_the_claim_by_the_gaussian_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    scale_noise(monkeypatch, 0.5)
    found = audit_in_one_run(parse("dp-streams:epsilon=4,delta=1e-5"), seed=1)
    assert found.estimate is not None and 6 < found.estimate < 8
    assert found.record()["noise"]["pairs"] == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(("factor", "verdict"), [(0.0, "broken"), (0.5, "broken"), (1.0, "holds")])
def test_one_run_of_dp_ratings(factor: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Canaries rate one item best and one worst; the score is that of two independent cells."""
    if factor < 1:
        scale_noise(monkeypatch, factor)
    found = audit_in_one_run(parse("dp-ratings:epsilon=4,delta=1e-5,scale=1..5"), seed=2)
    assert found.verdict == verdict, found.record()
    assert found.record()["canary"] == "people with one item rated best and one worst"
    if factor == 0.0:
        assert found.found.lower == pytest.approx(5.45, abs=0.02)  # every canary is seen
    elif factor == 0.5:
        assert found.estimate is not None and found.estimate > 2
    else:
        assert found.estimate is not None and 0.3 < found.estimate < 4  # seen, and no more than is claimed


def test_one_run_for_data_of_ones_own_and_bad_requests(recveil: Callable[..., Any], tmp_path: Path) -> None:
    data = toy(parse("dp-tags:epsilon=2"))
    data.frame().write_csv(tmp_path / "d.csv")
    (tmp_path / "items.txt").write_text("\n".join(map(str, [*data.items, 77])))
    options = ("--data", "d.csv", "--one-run", "--canaries", 100, "--seed", 1)
    found = recveil("audit", "dp-tags:epsilon=2", *options, "--catalogue", "items.txt", json_answer=True)
    assert (found["canaries"], found["runs"], found["verdict"]) == (100, 1, "holds")
    done = recveil("audit", "mbrw", "--one-run", code=1)
    assert "no canaries for one run of mbrw" in done.stderr
    done = recveil("audit", "dp-streams:epsilon=2,delta=1e-4", *options, "--canaries", 5000, code=1)
    assert "5000 canaries need 5000 pairs" in done.stderr
    with pytest.raises(RecveilError, match="at least 20 canaries"):
        audit_in_one_run(parse("mask:p=0.8"), canaries=5)
