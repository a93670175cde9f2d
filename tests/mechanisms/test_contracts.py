"""What every mechanism of the catalogue must hold. A new one is tested by being listed."""

from __future__ import annotations

import itertools
import re
from contextlib import suppress
from dataclasses import MISSING, fields, replace

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism, PublicInfo
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.blur import Blur
from recveil.mechanisms.spec import parse, text
from recveil.releases import local
from recveil.releases.release import release
from recveil.web.messages.said import said

# Parameters without a default, or whose default is too large for the world below, need a value here.
REQUIRED: dict[str, str] = {
    "dp-post-tags": "epsilon=2",
    "dp-ratings": "epsilon=100,delta=0.001,scale=1..5",
    "dp-streams": "epsilon=30,delta=0.01",
    "dp-tags": "epsilon=2,delta=1e-3",
    "pritop": "topics=4,sweeps=20",
    "shuffle-nnn": "k=10",
    "tag-suppression": "topics=4,sweeps=20",
    "threshold": "k=3",
}
SPOKEN = {
    "mask": ["p=0.9", "p=0.99999"],
    "mbrw": ["theta=0.7", "theta=0.7,redraw=true", "k=4,memory=normal(3,2)"],
    "microaggregation": ["k=1"],
}


def mechanism(name: str) -> Mechanism:
    """The mechanism with what it must be told; one that hides an attribute hides who has an odd number."""
    made = parse(f"{name}:{REQUIRED[name]}" if name in REQUIRED else name)
    return made.informed({f"person-{u:03d}": u % 2 == 1 for u in range(40)}) if isinstance(made, Blur) else made


def world(tags: bool = False) -> Interactions:
    rng = np.random.default_rng(3)
    user, item = np.divmod(rng.permutation(40 * 30)[:500], 30)
    return from_ids(
        pl.Series([f"person-{u:03d}" for u in user]),
        pl.Series(item),
        rating=rng.integers(1, 6, 500),
        time=rng.permutation(500),
        tag=pl.Series([f"t{t}" for t in rng.integers(0, 12, 500)]) if tags else None,
    )


def fitting(name: str) -> Interactions:
    return world(tags="tag" in MECHANISMS[name].needs)


every = pytest.mark.parametrize("name", sorted(MECHANISMS))


@every
def test_same_seed_same_rows_in_any_chunks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = fitting(name)
    whole = release(data, mechanism(name), seed=11)
    monkeypatch.setattr(local, "CHUNK_ROWS", 37)
    pieces = release(data, mechanism(name), seed=11)
    assert whole.data.equals(pieces.data)
    assert dict(whole.notes) == dict(pieces.notes)


@every
def test_another_seed_other_rows(name: str) -> None:
    data = fitting(name)
    first, second = (release(data, mechanism(name), seed=s) for s in (1, 2))
    assert not first.data.equals(second.data)


@every
def test_the_input_is_unchanged(name: str) -> None:
    data = fitting(name)
    before = data.frame()
    release(data, mechanism(name), seed=1)
    assert data.frame().equals(before)


@every
def test_only_items_of_the_catalogue_are_released(name: str) -> None:
    data = fitting(name)
    assert set(release(data, mechanism(name), seed=1).data.frame()["item"]) <= set(data.items)


@every
def test_no_original_user_is_released(name: str) -> None:
    data = fitting(name)
    made = release(data, mechanism(name))
    assert not made.seeded
    assert made.data.users.dtype == pl.Int64
    assert not set(made.data.users.cast(pl.String)) & set(data.users)


@every
def test_the_promise_is_data_and_the_card_speaks(name: str) -> None:
    data = fitting(name)
    public = PublicInfo(data.kind, data.unit, data.items, data.tags, False)
    promise = mechanism(name).guarantee(public)
    assert promise.status != "experiment"
    if promise.status == "proved":
        assert promise.proof
        assert release(data, mechanism(name), seed=1).guarantee.status == "experiment"
    assert len(mechanism(name).card()) > 80


def variants(name: str) -> list[Mechanism]:
    """The mechanism with each of its choices, as far as they go together, and with what its words depend on."""
    found = [parse(f"{name}:{more}") for more in SPOKEN.get(name, [])] + [mechanism(name)]
    for f in fields(found[-1]):
        for made in list(found) if isinstance(f.metadata.get("rule"), tuple) else ():
            for value in f.metadata["rule"]:
                with suppress(RecveilError):
                    found.append(replace(made, **{f.name: value}))
    return found


@every
def test_what_it_says_is_said_in_german_with_the_same_figures(name: str) -> None:
    items = pl.Series(["a", "b", "c"])
    for made in variants(name):
        texts = [made.card()]
        for unit, catalogue in itertools.product(("user", "session"), (False, True)):
            promise = made.guarantee(PublicInfo("tags", unit, items, items, catalogue, ("users",) * catalogue, items))
            texts += [promise.sentence] * (promise.status != "proved") + [promise.given or "", promise.neighbours or ""]
            texts += [promise.weakness or ""]
        for english in filter(None, texts):
            german = said(english, "de")
            assert german and german != english, english
            assert figures(english) == figures(german)
    assert said(f"{mechanism(name).card()} This is no sentence of ours.", "de") is None


def figures(text: str) -> list[str]:
    return sorted(re.sub("[.,]", "", number) for number in re.findall(r"\d(?:[\d.,]*\d)?", text))


@every
def test_parameters_explain_themselves_and_are_checked(name: str) -> None:
    assert parse(text(mechanism(name))) == mechanism(name)
    for f in fields(MECHANISMS[name]):
        assert f.metadata["about"]
        if f.default is MISSING:
            assert name in REQUIRED
            with pytest.raises(RecveilError, match=f.name):
                parse(name)


@every
def test_missing_columns_are_named(name: str) -> None:
    bare = from_ids(pl.Series([1, 1, 2, 2]), pl.Series([1, 2, 1, 3]))
    for column in MECHANISMS[name].needs:
        with pytest.raises(RecveilError, match=column):
            release(bare, mechanism(name))
