"""A list of planted bugs, each of which a named check catches. A check that lets one pass is no check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, isqrt, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import promises
import pytest
from promises_of_ledgers import (
    a_changed_line_is_found,
    a_cut_end_is_found,
    budgets_are_kept,
    every_release_is_accounted_for,
    it_is_entered_before_any_noise,
    pure_lines_keep_their_budget,
)

from recveil.data import Interactions
from recveil.dp import vocabulary
from recveil.dp.noise import gaussian
from recveil.kernels import baskets, rating_counts
from recveil.mechanism import Synthesis
from recveil.mechanisms import dp_ratings, dp_streams, dp_tags
from recveil.mechanisms.dp_streams import UNIT, counting
from recveil.mechanisms.spec import parse
from recveil.randomness import Source
from recveil.releases import hash_chain, ledger
from recveil.releases import release as releasing

STREAMS, TAGS, PEOPLE, RATINGS = (
    "dp-streams:epsilon=2,delta=0.001", "dp-tags:epsilon=2", "dp-tags:epsilon=2,delta=0.001,unit=user",
    "dp-ratings:epsilon=2,delta=0.001,scale=1..5",
)  # fmt: skip
MODULES: dict[str, Any] = {"dp-streams": dp_streams, "dp-tags": dp_tags, "dp-ratings": dp_ratings}


@dataclass(frozen=True)
class Seam:
    """Where a bug is planted: in a module, or in a mechanism's class."""

    patch: pytest.MonkeyPatch
    module: Any
    kind: Any


def zero_cells_have_no_noise(at: Seam) -> None:
    honest = at.kind.publish

    def publish(self: Any, counts: Any, *rest: Any) -> Any:
        made = honest(self, counts, *rest)
        truth = promises.tables(counts, made)
        return {
            name: np.where(truth[name].reshape(np.shape(t)) == 0, 0, t) if name in truth else t
            for name, t in made.items()
        }

    at.patch.setattr(at.kind, "publish", publish)


def _weigh(weight: Callable[[int, int], int]) -> Callable[..., Any]:
    """count_items with another weight for each of a person's items."""

    def count(starts: Any, item: Any, n: int, unit: int) -> Any:
        found = np.zeros(n, dtype=np.int64)
        for a, b in pairwise(starts):
            mine = np.unique(item[a:b])
            found[mine] += weight(unit, len(mine)) if len(mine) else 0
        return found

    return count


def _weigh_otherwise(at: Seam, weight: Callable[[int, int], int]) -> None:
    for module in (baskets, counting):
        at.patch.setattr(module, "count_items", _weigh(weight), raising=module is baskets)


def a_cap_inside_the_bound(at: Seam) -> None:
    _weigh_otherwise(at, lambda unit, t: int(unit / sqrt(min(t, 4))))


def rounded_up(at: Seam) -> None:
    _weigh_otherwise(at, lambda unit, t: ceil(unit / sqrt(t)))


def two_tables_from_one_stream(at: Seam) -> None:
    honest = Source.derive
    same = {"order": "pairs", "item": "tag", "user_tag": "item_tag", "like": "have", "sessions": "pairs"}
    at.patch.setattr(Source, "derive", lambda self, *name: honest(self, *(same.get(str(n), n) for n in name)))


def noise_scaled_to_another_table(at: Seam) -> None:
    at.patch.setattr(at.module, "gaussian", lambda v: gaussian(max(1, v // 4)))


def counted_before_rows_are_distinct(at: Seam) -> None:
    at.patch.setattr(at.module, "distinct", lambda rows: rows)


def sizes_read_from_the_data(at: Seam) -> None:
    honest = at.kind.publish

    def publish(self: Any, counts: Any, *rest: Any) -> Any:
        return {name: t[: int(np.flatnonzero(promises.tables(counts, {name: t})[name]).max()) + 1]
                for name, t in honest(self, counts, *rest).items()}  # fmt: skip

    at.patch.setattr(at.kind, "publish", publish)


# --- dp-ratings -----------------------------------------------------------------------------------------------------


def ratings_are_not_divided_by_their_number(at: Seam) -> None:
    honest = rating_counts.count_effects

    def count(*arguments: Any) -> Any:
        have, like = honest(*arguments)
        return have, 2 * like

    at.patch.setattr(rating_counts, "count_effects", count)


def levels_count_ratings_not_people(at: Seam) -> None:
    honest = rating_counts.count_rest

    def count(*arguments: Any) -> Any:
        rest, levels, profiles = honest(*arguments)
        return rest, 3 * levels, profiles

    at.patch.setattr(rating_counts, "count_rest", count)


def directions_learned_from_true_counts(at: Seam) -> None:
    honest = at.kind.publish

    def publish(self: Any, counts: Any, published: Any, public: Any, source: Source) -> Any:
        made = honest(self, counts, published, public, source)
        if not published:
            made["effect"] = made["effect"] + counts["like"] / max(1, int(np.abs(counts["like"]).max()))
        return made

    at.patch.setattr(at.kind, "publish", publish)


# --- sessions -------------------------------------------------------------------------------------------------------


def every_session_is_bounded_by_itself(at: Seam) -> None:
    def count(chunk: Interactions, *_: Any) -> Any:
        s = counting.sessions(chunk)
        return baskets.count_items(s.starts, s.item, chunk.n_items, UNIT)

    at.patch.setattr(at.module, "item_counts", count)


def pairs_of_sessions_are_not_scaled(at: Seam) -> None:
    honest = at.module.table_counts

    def count(chunk: Interactions, keep: Any, m: int, ordered: bool, by_sessions: bool) -> Any:
        by_people = honest(chunk, keep, m, ordered, by_sessions)
        s = counting.sessions(chunk)
        alone = baskets.count_pairs(
            s.starts, s.item, keep, m, counting.EDGES, counting.PAIRS, UNIT**2 - counting.PAIRS, UNIT, ordered
        )
        return replace(by_people, pairs=alone[0])

    at.patch.setattr(at.module, "table_counts", count)


def how_many_sessions_is_told_as_it_is(at: Seam) -> None:
    honest = at.kind.publish

    def publish(self: Any, counts: Any, *rest: Any) -> Any:
        made = honest(self, counts, *rest)
        return made | ({"sessions": counts.sessions} if "sessions" in made else {})

    at.patch.setattr(at.kind, "publish", publish)


# --- selection ------------------------------------------------------------------------------------------------------


def a_person_counts_with_all_her_ids(at: Seam) -> None:
    at.patch.setattr(counting if at.module is dp_streams else at.module, "at_most", lambda rows, *_: rows)


def a_threshold_for_people_with_one_id(at: Seam) -> None:
    honest = vocabulary.threshold
    at.patch.setattr(at.module, "threshold", lambda law, delta, unit, _: honest(law, delta, unit, 1))


def a_threshold_a_hundred_times_too_lax(at: Seam) -> None:
    honest = vocabulary.threshold
    at.patch.setattr(at.module, "threshold", lambda law, delta, *more: honest(law, 100 * delta, *more))


def a_selection_without_noise(at: Seam) -> None:
    at.patch.setattr(vocabulary, "draw", lambda _, n, *__: np.zeros(n, dtype=np.int64))


LIST: list[tuple[Any, Any, tuple[str, ...]]] = [
    (zero_cells_have_no_noise, promises.noise_in_every_cell, (STREAMS, TAGS, PEOPLE, RATINGS)),
    (two_tables_from_one_stream, promises.noise_in_every_cell, (STREAMS, PEOPLE, RATINGS)),
    (noise_scaled_to_another_table, promises.noise_in_every_cell, (STREAMS, PEOPLE, RATINGS)),
    (a_cap_inside_the_bound, promises.contributions_are_bounded, (STREAMS, PEOPLE)),
    (rounded_up, promises.contributions_are_bounded, (STREAMS, PEOPLE)),
    (counted_before_rows_are_distinct, promises.repeated_rows_change_nothing, (TAGS,)),
    (sizes_read_from_the_data, promises.tables_have_the_size_of_the_lists, (STREAMS, TAGS)),
    (ratings_are_not_divided_by_their_number, promises.contributions_are_bounded, (RATINGS,)),
    (levels_count_ratings_not_people, promises.contributions_are_bounded, (RATINGS,)),
    (directions_learned_from_true_counts, promises.noise_in_every_cell, (RATINGS,)),
    (a_person_counts_with_all_her_ids, promises.selection_keeps_its_delta, (STREAMS, PEOPLE, RATINGS)),
    (a_threshold_for_people_with_one_id, promises.selection_keeps_its_delta, (STREAMS, PEOPLE, RATINGS)),
    (a_threshold_a_hundred_times_too_lax, promises.selection_keeps_its_delta, (STREAMS, PEOPLE, RATINGS)),
    (a_selection_without_noise, promises.selections_have_their_noise, (STREAMS, PEOPLE, RATINGS)),
]
OF_SESSIONS = [
    (every_session_is_bounded_by_itself, promises.contributions_are_bounded),
    (pairs_of_sessions_are_not_scaled, promises.contributions_are_bounded),
    (how_many_sessions_is_told_as_it_is, promises.noise_in_every_cell),
    (two_tables_from_one_stream, promises.noise_in_every_cell),
    (a_person_counts_with_all_her_ids, promises.selection_keeps_its_delta),
]
CASES = [(bug, check, spec, False) for bug, check, specs in LIST for spec in specs]
CASES += [(bug, check, STREAMS, True) for bug, check in OF_SESSIONS]


def world(made: Synthesis, sessions: bool) -> Interactions:
    data = promises.little_world("tag" in made.needs, "rating" in made.needs)
    return replace(data, session=(np.arange(len(data)) % 5 // 3).astype(np.uint64)) if sessions else data


@pytest.mark.parametrize(
    ("bug", "check", "spec", "sessions"),
    CASES,
    ids=[f"{bug.__name__}-{spec}{'-sessions' * sessions}" for bug, _, spec, sessions in CASES],
)
def test_a_planted_bug_is_caught(
    bug: Any, check: Any, spec: str, sessions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = parse(spec)
    assert isinstance(made, Synthesis)
    data = world(made, sessions)
    laws = made.laws(promises.public_of(data))
    bug(Seam(monkeypatch, MODULES[made.name], type(made)))
    stated = [laws] if check is promises.noise_in_every_cell else []
    with pytest.raises(AssertionError):
        check(made, data, *stated)


@pytest.mark.parametrize(
    ("check", "spec", "sessions"),
    sorted({(check, spec, sessions) for _, check, spec, sessions in CASES}, key=str),
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_is_honest_passes_every_check(check: Any, spec: str, sessions: bool) -> None:
    made = parse(spec)
    assert isinstance(made, Synthesis)
    check(made, world(made, sessions))


def test_honest_weights_are_those_of_the_list() -> None:
    """The twin that the planted bugs change is right as it stands."""
    rng = np.random.default_rng(1)
    item = rng.integers(0, 9, 60)
    starts = np.array([0, 7, 7, 30, 60])
    honest = baskets.count_items(starts, item.astype(np.int32), 9, UNIT)
    assert np.array_equal(honest, _weigh(lambda unit, t: isqrt(unit * unit // t))(starts, item, 9, UNIT))


# --- the ledger -----------------------------------------------------------------------------------------------------


def entered_when_all_is_done(patch: pytest.MonkeyPatch) -> None:
    honest = releasing.publish

    def publish(data: Any, mechanism: Any, public: Any, chance: Any, *rest: Any, enter: Any = None, **more: Any) -> Any:
        made = honest(data, mechanism, public, chance, *rest, **more)
        if enter:
            enter(mechanism, mechanism.guarantee(public))
        return made

    patch.setattr(releasing, "publish", publish)


def only_the_largest_rho_counts(patch: pytest.MonkeyPatch) -> None:
    honest = ledger.epsilon_of
    patch.setattr(
        ledger, "_as_gaussian", lambda group, delta: honest(max(e["rho"] or e["epsilon"] ** 2 for e in group), delta)
    )


def nothing_is_set_aside_for_failures(patch: pytest.MonkeyPatch) -> None:
    honest = ledger.within
    patch.setattr(
        ledger, "within", lambda budget, group: honest(budget, [e | {"rho_fails": 0.0, "delta": 0.0} for e in group])
    )


def the_whole_delta_is_spent_twice(patch: pytest.MonkeyPatch) -> None:
    honest = ledger._as_gaussian
    patch.setattr(ledger, "_as_gaussian", lambda group, delta: honest(group, 2 * delta))


def a_pure_line_counts_as_zcdp_beside_gaussian_ones(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ledger, "rho_of_pure", lambda epsilon: epsilon**2 / 8)


def a_pure_line_counts_for_less(patch: pytest.MonkeyPatch) -> None:
    honest = ledger._as_zcdp
    less = lambda e: e if e["rho"] is not None else e | {"epsilon": e["epsilon"] * sqrt(2 / 3)}  # noqa: E731
    patch.setattr(ledger, "_as_zcdp", lambda group, delta: honest([less(e) for e in group], delta))


def experiments_are_in_no_total(patch: pytest.MonkeyPatch) -> None:
    honest = ledger.unpromised
    patch.setattr(ledger, "unpromised", lambda entries: honest([e for e in entries if e["status"] != "experiment"]))


def one_hash_for_all_lines(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hash_chain, "_hash", lambda _: "0" * 64)


def the_head_stays_at_the_first_line(patch: pytest.MonkeyPatch) -> None:
    honest = hash_chain._put_head
    patch.setattr(hash_chain, "_put_head", lambda path, lines: honest(path, lines[:1]))


OF_LEDGERS = [
    (entered_when_all_is_done, it_is_entered_before_any_noise),
    (only_the_largest_rho_counts, budgets_are_kept),
    (nothing_is_set_aside_for_failures, budgets_are_kept),
    (the_whole_delta_is_spent_twice, budgets_are_kept),
    (a_pure_line_counts_as_zcdp_beside_gaussian_ones, budgets_are_kept),
    (a_pure_line_counts_for_less, pure_lines_keep_their_budget),
    (experiments_are_in_no_total, every_release_is_accounted_for),
    (one_hash_for_all_lines, a_changed_line_is_found),
    (the_head_stays_at_the_first_line, a_cut_end_is_found),
]


@pytest.mark.parametrize(("bug", "check"), OF_LEDGERS, ids=[bug.__name__ for bug, _ in OF_LEDGERS])
def test_a_bug_of_the_ledger_is_caught(bug: Any, check: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check(tmp_path / "honest")
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path / "ledger")
