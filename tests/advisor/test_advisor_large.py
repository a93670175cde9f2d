"""Catalogues that are too large to be sent whole: shards, and what has changed since a moment before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest
from advisor_server import Server
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import API, client_of, opened
from visits import Visit

from recveil.advisor import catalogue, counter_noise, noisy_counters, profile_parts
from recveil.advisor.applying import apply
from recveil.advisor.catalogue import current
from recveil.advisor.noisy_counters import CounterBudget, last_draft, look
from recveil.advisor.schema import metadata
from recveil.advisor.store import YEAR, connect, open_store, reading
from recveil.advisor.writes import Stock, Withdraw, Write
from recveil.dp import continual

MANY = tuple((f"film-{n:05}", f"Title {n % 37} of {n}") for n in range(6000))


def test_a_shard_has_so_many_items_that_a_request_for_it_tells_little(tmp_path: Path) -> None:
    engine = open_store(str(tmp_path / "large.sqlite"))
    apply(engine, [Stock(MANY[: catalogue.WHOLE])])
    with reading(engine) as db:
        assert current(db).shards == {}
    apply(engine, [Stock(MANY)])
    with reading(engine) as db:
        found = current(db)
    places = sorted(place for shard in found.shards.values() for place in shard)
    assert places == list(range(len(MANY))) and len(found.shards) == 16
    assert min(len(shard) for shard in found.shards.values()) >= catalogue.LEAST
    engine.dispose()


name = st.sampled_from(["a", "b", "c", "d", "e"])
change: st.SearchStrategy[Write] = st.one_of(
    st.builds(lambda key, title: Stock(((key, title),)), name, st.sampled_from(["A", "b", "Ä", "a\nb"])),
    st.builds(Withdraw, name),
)


@settings(max_examples=40)
@given(st.lists(st.lists(change, max_size=4), max_size=5))
def test_what_has_changed_of_a_catalogue_is_all_that_is_read_again(batches: list[list[Write]]) -> None:
    engine = connect(":memory:")
    metadata.create_all(engine)
    known = None
    for batch in batches:
        apply(engine, batch)
        with reading(engine) as db:
            before, known, anew = known, current(db, known), current(db)
        assert list(known.titles.items()) == list(anew.titles.items()) and known.revision == anew.revision
        np.testing.assert_array_equal(known.numbers, anew.numbers)
        assert known is before or before is None or known.revision > before.revision
    engine.dispose()


def test_shards_together_are_the_whole_table(tmp_path: Path) -> None:
    with opened(str(tmp_path / "large.sqlite"), counters="private", min_people=1) as advisor:
        apply(advisor.engine, [Stock(MANY)])
        advisor.outdated = True
        counts = np.zeros((2, 6001), np.int64)
        counts[:, 1::3] = [[40], [2]]
        counts[0, 7] = 90
        with advisor.engine.begin() as db:
            profile_parts.write(1, counts, lambda act: act(db))
            db.exec_driver_sql("UPDATE years SET shown = 1, people = 500, done = 1")
        with client_of(advisor) as server:
            table = server.get(f"{API}/profiles").json()
            assert (table["shards"], len(table["profiles"]), table["most"]) == (4, 1000, 92)
            n = counts.sum(0)
            assert table["no_click"] == pytest.approx(np.log(500 / (500 - n)).sum(), abs=1e-3)
            whole = server.get(f"{API}/profiles?whole=true").json()
            assert whole["shards"] == 0 and len(whole["profiles"]) >= 6000
            shown = {key: profile for key, profile in whole["profiles"].items() if profile is not None}
            assert len(shown) == 2000 and table["profiles"].items() <= shown.items()
            parts = [server.get(f"{API}/profiles/{shard:04b}") for shard in range(16)]
            found: dict[str, Any] = {}
            for part in parts:
                found |= part.json()["profiles"]
            assert found == shown
            same = {"If-None-Match": parts[0].headers["etag"]}
            assert server.get(f"{API}/profiles/0000", headers=same).status_code == 304
            assert server.get(f"{API}/profiles/00").status_code == 404
            assert server.get(f"{API}/profiles/film-00001").status_code == 422


def test_a_look_costs_one_entry_a_counter_however_late_in_the_year(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of earlier looks is kept; where it is gone, or items are new, it is made again and is the same."""
    at, budget = [1_700_000_000], CounterBudget(looks=40)
    monkeypatch.setattr(noisy_counters, "now", lambda: at[0])
    engine = open_store(str(tmp_path / "a.sqlite"))
    apply(engine, [Stock(MANY[:50])])
    drawn: list[int] = []
    honest = continual.entries

    def entries(source: Any, look: int, of_z: int, first: int, n: int) -> Any:
        drawn.append(n if n > 1 else 0)
        return honest(source, look, of_z, first, n)

    monkeypatch.setattr(continual, "entries", entries)
    told = []
    for day in range(12):
        if day == 8:
            apply(engine, [Stock(MANY[50:60])])
        if day == 10:
            with engine.begin() as db:
                db.exec_driver_sql("DELETE FROM noise_sums")
        drawn.clear()
        assert look(engine, budget)
        told.append(sum(drawn))
        at[0] += YEAR // 40
    late = 2 * (51 + 9 * 10)  # the new items' own, from the first look on
    assert told == [102] * 8 + [late + 20 - 20, 122, 11 * 122, 122]
    with reading(engine) as db:
        shown = profile_parts.read(db, last_draft(db))
        year = dict(db.exec_driver_sql("SELECT * FROM years").mappings().one())
    anew = counter_noise.noise(counter_noise.advance(None, year, 12, 0, 61), 40)
    np.testing.assert_array_equal(shown, anew)  # nobody clicked
    engine.dispose()


def test_a_draft_that_is_not_whole_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_store(str(tmp_path / "a.sqlite"))
    apply(engine, [Stock(MANY[:50])])
    monkeypatch.setattr(profile_parts, "PART", 16)
    monkeypatch.setattr(profile_parts, "AT_ONCE", 1)
    honest = profile_parts.write
    monkeypatch.setattr(profile_parts, "write", lambda draft, counts, out: honest(draft, counts[:, :-5], out))
    assert not look(engine, CounterBudget())
    with reading(engine) as db:
        assert profile_parts.read(db, last_draft(db)).shape == (2, 0)
    monkeypatch.setattr(profile_parts, "write", honest)
    assert look(engine, CounterBudget())
    with reading(engine) as db:
        assert profile_parts.read(db, last_draft(db)).shape == (2, 51)
        assert db.exec_driver_sql("SELECT count(DISTINCT draft) FROM profiles").scalar_one() == 1
    engine.dispose()


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("large"), ("--publish-every", "0.5")).start()
    started.stop()
    engine = open_store(str(started.folder / "db.sqlite"))
    apply(engine, [Stock(MANY)])
    engine.dispose()
    yield started.start()
    started.stop()


def test_a_page_of_a_large_catalogue_asks_for_shards_and_a_pre_click_for_nothing(browser: Any, large: Server) -> None:
    her = Visit(browser, large).open()
    her.item("Niche")
    her.page.get_by_text("8 like it, 0 dislike it").first.wait_for()
    her.page.wait_for_load_state("networkidle")
    asked = [path for method, path in her.sent() if "/profiles" in path]
    assert "/api/v1/profiles" in asked and len(asked) > 2
    shard_of = 'async (item) => (await import("/static/profiles.js")).shardOf(item, 4)'
    for item in ("Niche", "Crowd", "film-00001", "Ünïcødé"):
        name = her.page.evaluate(shard_of, item)
        assert name == f"{catalogue.crc32(item.encode()) >> 28:04b}"
    with urlopen(Request(f"{large.url}/api/v1/profiles")) as answer:
        start = json.loads(answer.read())["no_click"] / np.log(2)
    assert her.numbers()[2] == f"{start:.1f}"
    for title, told in (("Niche", "one of 9 people"), ("Title 36 of 5993", "fewer than 5 people")):
        dialog = her.preclick(title, "like")
        her.page.wait_for_load_state("networkidle")
        her.sent()
        assert told in dialog.inner_text()
        dialog.get_by_role("button", name="Cancel").click()
        her.says("Cancelled. Nothing was sent.")
        assert her.sent() == []
    her.close()
