"""Bugs planted in the click advisor, each of which a named check catches; without them every check passes."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_advisor_histories as told
from counter_audit import told_apart, verdict, watched
from histories import check_neighbours, check_noise, replay
from sqlalchemy import update

from recveil.advisor import applying, counter_noise, schema, store
from recveil.advisor.counter_noise import PartSums
from recveil.advisor.noisy_counters import CounterBudget
from recveil.dp import continual
from recveil.randomness import Source

BUDGET = CounterBudget(looks=40)
KEY = bytes(range(32))
Plant = Callable[[pytest.MonkeyPatch], None]


def noise_by_position(patch: pytest.MonkeyPatch) -> None:
    """Dislikes stand behind all likes: a new item moves them to other cells."""

    def advance(_: Any, year: Any, look: int, first: int, n: int) -> Any:
        source, sums = Source(year["key"], seeded=False), np.zeros((len(continual.points(year["looks"])[0]), 2 * n))
        for at in range(1, look + 1):
            continual.add(sums, continual.entries(source, at, year["variance"], first, 2 * n), year["looks"])
        return PartSums(look, np.array([sums[:, :n], sums[:, n:]]))

    patch.setattr(counter_noise, "advance", advance)


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    honest = continual.entries
    patch.setattr(continual, "entries", lambda *given: honest(*given) / 2)


def likes_and_dislikes_share_their_noise(patch: pytest.MonkeyPatch) -> None:
    honest = counter_noise.entries
    patch.setattr(counter_noise, "entries", lambda year, _, *rest: honest(year, "likes", *rest))


def neighbouring_items_share_their_noise(patch: pytest.MonkeyPatch) -> None:
    honest = continual.entries
    patch.setattr(continual, "entries", lambda *given: honest(*given)[np.arange(given[-1]) // 2 * 2])


def every_look_draws_anew(patch: pytest.MonkeyPatch) -> None:
    honest = counter_noise.advance

    def advance(_: Any, year: Any, look: int, *rest: int) -> Any:
        anew = {**year, "key": Source(year["key"], seeded=False).derive(look).words(4).tobytes()}
        return honest(None, anew, look, *rest)

    patch.setattr(counter_noise, "advance", advance)


def sums_that_stay(patch: pytest.MonkeyPatch) -> None:
    """A look begins where the one before it began: what was shown twice with one noise differs by what is exact."""
    honest = counter_noise.advance
    first: dict[bytes, Any] = {}

    def advance(_: Any, year: Any, look: int, at: int, n: int) -> Any:
        made = first.setdefault(year["key"], honest(None, year, 1, at, 10_000))
        return PartSums(look, made.sums[:, :, :n])

    patch.setattr(counter_noise, "advance", advance)


def new_items_have_half_of_the_noise(patch: pytest.MonkeyPatch) -> None:
    """What an item that came later lacks of earlier looks makes its noise smaller than that of a year."""
    honest = counter_noise.advance

    def advance(known: Any, year: Any, look: int, at: int, n: int) -> Any:
        made = honest(known, year, look, at, n)
        made.sums[:, :, known.sums.shape[2] if known else n :] /= 2
        return made

    patch.setattr(counter_noise, "advance", advance)


def one_key_for_all_years(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(secrets, "token_bytes", bytes)


def a_click_keeps_the_account_alive(patch: pytest.MonkeyPatch) -> None:
    honest = applying.Transaction.click

    def click(self: Any, write: Any, who: int, *rest: Any) -> Any:
        self.db.execute(update(schema.people).where(schema.people.c.id == who).values(seen=store.now()))
        return honest(self, write, who, *rest)

    patch.setattr(applying.Transaction, "click", click)


def all_changes_of_mind_are_counted(patch: pytest.MonkeyPatch) -> None:
    honest = applying.Transaction.__init__
    patch.setattr(applying.Transaction, "__init__", lambda self, db, _, *rest: honest(self, db, 10**6, *rest))


def an_erased_person_stays_in_other_counters(patch: pytest.MonkeyPatch) -> None:
    """Whether her clicks leave depends on how many she has: one click more, and others stay."""
    honest = applying.Transaction.leave

    def leave(self: Any, item: int, sign: int, spent: int, entered: int) -> int:
        odd = self.db.exec_driver_sql("SELECT count(*) % 2 FROM clicks").scalar_one()
        return honest(self, item, sign, spent, entered and int(odd))

    patch.setattr(applying.Transaction, "leave", leave)


def audited(_: Path) -> None:
    assert verdict(watched(BUDGET, 1800, KEY), BUDGET) == "holds"


def neighbours(name: str) -> Callable[[Path], Any]:
    return lambda folder: check_neighbours([*told.START, *told.steps(told.TABLE[name])], told.UNIT, folder / name)


def one_noise(folder: Path) -> None:
    check_noise(replay([*told.START, *told.steps(told.TABLE["growth"])], folder / "world"))


LIST: list[tuple[Plant, Callable[[Path], Any]]] = [
    (noise_by_position, audited),
    (noise_by_position, one_noise),
    (half_the_noise, audited),
    (likes_and_dislikes_share_their_noise, audited),
    (neighbouring_items_share_their_noise, audited),
    (every_look_draws_anew, audited),
    (sums_that_stay, audited),
    (sums_that_stay, one_noise),
    (new_items_have_half_of_the_noise, one_noise),
    (every_look_draws_anew, one_noise),
    (one_key_for_all_years, told.test_every_year_has_a_key_of_its_own),
    (a_click_keeps_the_account_alive, neighbours("expiry")),
    (all_changes_of_mind_are_counted, neighbours("changes of mind")),
    (an_erased_person_stays_in_other_counters, neighbours("erasure")),
]


@pytest.mark.parametrize(("bug", "check"), LIST, ids=[f"{bug.__name__}-{n}" for n, (bug, _) in enumerate(LIST)])
def test_a_planted_bug_is_caught(bug: Plant, check: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path)


def test_honest_counters_hold() -> None:
    noise = watched(BUDGET, 1800, KEY)
    assert verdict(noise, BUDGET) == "holds"
    assert told_apart(noise, BUDGET).lower < BUDGET.epsilon


@pytest.mark.slow
def test_a_year_of_daily_looks_with_a_new_item_each_day_tells_no_more_than_promised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """900 items with a dislike and 900 without; the old noise, which followed the catalogue, gives it away."""
    budget = CounterBudget()
    honest = watched(budget, 1800, KEY)
    assert verdict(honest, budget) == "holds" and told_apart(honest, budget).lower < budget.epsilon
    noise_by_position(monkeypatch)
    old = watched(budget, 1800, KEY)
    assert verdict(old, budget).startswith("broken: the mean of all looks")
    assert told_apart(old, budget).lower > budget.epsilon
