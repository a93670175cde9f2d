"""Public items, no private data: the control of every table of use, and what a release says that adds nothing to it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.evaluation.design import Design, measures, split
from recveil.evaluation.metrics.lift import lift
from recveil.evaluation.metrics.public_items import BEYOND, LIFT, NO_FILE, NOTHING, public_items
from recveil.evaluation.metrics.ranking import ranking
from recveil.evaluation.recommenders.ease import EASE
from recveil.evaluation.recommenders.items_alone import items_alone
from recveil.formats.item_file import public_items as facts_of
from recveil.guarantee import Guarantee
from recveil.items import PublicItems
from recveil.measurement import Measurement, SkippedError, Trial, measure
from recveil.report.controls import CONTROL, adds_nothing, row
from recveil.report.controls import NO_FILE as NO_FILE_ROW
from recveil.report.html import html
from recveil.report.summary import summary
from recveil.report.table import Advice, Entry, Report
from recveil.report.text import text
from recveil.report.verdict import headline, sentence

PEOPLE, ITEMS, CAMPS = 240, 96, 8
REFEREES = (EASE(),)


def shop(seed: int = 0, stay: float = 0.9) -> Interactions:
    """People who stay in one of eight categories; within it some items are bought more than others."""
    rng = np.random.default_rng(seed)
    rows = []
    appeal = rng.exponential(1, ITEMS)
    for user in range(PEOPLE):
        own = np.arange(ITEMS) % CAMPS == user % CAMPS
        weight = appeal * np.where(own, stay * CAMPS, 1 - stay)
        rows += [(user, int(i)) for i in rng.choice(ITEMS, 8, replace=False, p=weight / weight.sum())]
    users, items = zip(*rows, strict=True)
    return from_ids(pl.Series(users), pl.Series(items), time=np.arange(len(rows)))


def categories(permuted: bool = False) -> pl.DataFrame:
    kind = np.arange(ITEMS) % CAMPS
    kind = np.random.default_rng(1).permutation(kind) if permuted else kind
    return pl.DataFrame({"item": range(ITEMS), "category": [f"c{k}" for k in kind]})


def trial_of(data: Interactions, facts: PublicItems | None) -> Trial:
    parts = split(data, 0.3, [0], facts)
    return Trial(parts.train, parts.train, query=parts.query, result=parts.result, items=facts)


def measured(subject: Trial) -> dict[tuple[str, str], Measurement]:
    found = public_items(subject, np.random.default_rng(0), REFEREES)
    return {(m.name, str(m.params["referee"])): m for m in found}


def test_categories_teach_by_themselves_and_permuted_ones_do_not() -> None:
    data = shop()
    told, lost = (measured(trial_of(data, facts_of(categories(p), "x"))) for p in (False, True))
    assert told[LIFT, "ease"].low > 0.3 and lost[LIFT, "ease"].high < 0.1
    assert lost[BEYOND, "ease"].low > 0 and told[BEYOND, "ease"].value < lost[BEYOND, "ease"].value
    assert told["ndcg", "public items"].params["trained_on"] == "items"
    assert told["next hit rate", "public items"].value > lost["next hit rate", "public items"].value + 0.2
    assert (LIFT, "markov") in told and (BEYOND, "session-knn") in told


def test_nobody_elses_rows_have_a_say_in_the_control() -> None:
    """Other people, other popularity, other items that are bought: the control of the same judges is the same."""
    subject = trial_of(shop(), facts_of(categories(), "x"))
    other = replace(subject, train=shop(5).over_items(subject.train.items), released=shop(6, 0.2))
    kept = [{k: (m.value, m.low) for k, m in measured(s).items() if k[1] == "public items"} for s in (subject, other)]
    assert kept[0] and kept[0] == kept[1]


def test_items_that_nobody_has_are_candidates_too() -> None:
    """A shelf that nobody buys from competes: which items are bought is private."""
    more = pl.concat(
        [categories(), pl.DataFrame({"item": range(900, 900 + ITEMS), "category": categories()["category"]})]
    )
    data = shop()
    few, many = (measured(trial_of(data, facts_of(f, "x")))["ndcg", "public items"] for f in (categories(), more))
    assert many.high < few.low


def test_scores_are_cosines_with_what_is_shown_and_equals_stand_by_chance() -> None:
    frame = pl.DataFrame({"item": range(5), "g": ["a", "a", "b", "b", None], "h": [["x"], ["x", "y"], ["y"], [], []]})
    facts = facts_of(frame, "x")
    data = from_ids(pl.Series([0, 0, 1]), pl.Series([0, 3, 2])).over_items(facts.items)
    history = data.matrix(binary=True)
    scores = items_alone(facts).scores(data, history, np.arange(2))
    rows = facts.weighted().toarray()
    assert np.allclose(scores, history.toarray() @ rows @ rows.T, atol=1e-8)
    assert len(np.unique(scores[0])) == 5


def test_without_a_file_and_with_one_that_tells_nothing_the_reason_is_said() -> None:
    data, constant = shop(), pl.DataFrame({"item": range(ITEMS), "c": ["a"] * ITEMS})
    for facts, why in ((None, NO_FILE), (facts_of(constant, "x"), NOTHING)):
        with pytest.raises(SkippedError) as left:
            public_items(trial_of(data, facts), np.random.default_rng(0), REFEREES)
        assert str(left.value) == why
    with pytest.raises(SkippedError, match="no test people"):
        public_items(Trial(data, data, items=facts_of(categories(), "x")), np.random.default_rng(0), REFEREES)
    assert "public-items" in measures(Design(), items=True) and "public-items" not in measures(Design())


def judged(released: Interactions, facts: PublicItems | None = None) -> Report:
    """What a report says of one release of the shop."""
    subject = trial_of(shop(), facts)
    subject = replace(subject, released=released.over_items(subject.train.items))
    wanted: Any = {
        "lift": partial(lift, referees=REFEREES),
        "ranking": partial(ranking, referees=REFEREES),
        "linkage": lambda *_: [Measurement("linkage", 0.0, 0.0, 0.05, n=9, chance=0.1, params={"known": 4})],
        **({"public-items": partial(public_items, referees=REFEREES)} if facts else {}),
    }
    promise = Guarantee("proved", status="proved", epsilon=1.0, delta=1e-6, unit="user", neighbours="add or remove")
    entry = Entry("some:x=1", promise, "done", len(released), released.n_users)
    return Report({"kind": "clicks"}, (entry,), tuple(measure(subject, wanted, 0, "some:x=1")))


def test_a_release_that_adds_nothing_says_so_first() -> None:
    """Rows of people who like everything alike teach less than categories; the true rows teach more."""
    facts = facts_of(categories(), "x")
    idle, useful = judged(shop(3, 0.13), facts), judged(shop(), facts)
    assert adds_nothing(idle, idle.entries[0]) and not adds_nothing(useful, useful.entries[0])
    assert headline(idle).startswith("This release adds nothing certain to the public file of items")
    assert sentence(idle, idle.entries[0]).startswith("It adds nothing certain to your public file of items")
    assert summary(idle)[0].startswith("It adds nothing certain")
    assert "hides people from our attacks, and teaches" in headline(useful)
    assert "adds nothing" not in " ".join([*summary(useful), sentence(useful, useful.entries[0])])


def test_the_row_of_the_control_stands_beside_most_popular_everywhere() -> None:
    shown, bare = judged(shop(), facts_of(categories(), "x")), judged(shop())
    for report, cell in ((shown, "["), (bare, NO_FILE_ROW)):
        lines = [line for line in (*text(report), *summary(report)) if line.strip().startswith(CONTROL)]
        assert len(lines) == 2 and all(cell in line for line in lines)
        assert any(line.strip().startswith("most popular") for line in text(report))
        page = html(report)
        assert f"{CONTROL}: {row(report)}" in page.replace("\n", " ")
        assert ("public items alone" in page) == (report is shown)


def test_compare_and_measure_and_tune_have_the_row(tmp_path: Path, recveil: Callable[..., Any]) -> None:
    shop().frame().write_csv(tmp_path / "shop.csv")
    categories().write_csv(tmp_path / "items.csv")
    only = ("--only", "lift,ranking,public-items", "--quick", "--shadows", 0, "--seed", 1, "--no-cache")
    done = recveil("compare", "shop.csv", "--with", "pseudonymise", "--items", "items.csv", *only).stdout
    assert CONTROL in done and NO_FILE_ROW not in done
    held = ("--holdout", 0.3, "--holdout-file", "held.parquet")
    recveil("release", "shop.csv", "--with", "pseudonymise", *held, "-o", "out", "--seed", 1)
    options = ("measure", "shop.csv", "out", "--holdout", "held.parquet", "--only", "public-items", "--seed", 1)
    found = recveil(*options, "--items", "items.csv", json_answer=True)["measurements"]
    assert {LIFT, BEYOND} <= {m["name"] for m in found}
    assert "no file of items was given" in recveil(*options, code=1).stderr
    bound = ("--with", "microaggregation", "--keep", "lift>=0.01", "--seed", 1)
    assert f"{CONTROL}: 0." in recveil("tune", "shop.csv", *bound, "--items", "items.csv").stdout
    assert f"{CONTROL}: no file of items was given" in recveil("tune", "shop.csv", *bound).stdout


def test_owners_are_sent_to_what_keeps_most_of_what_they_want(recveil: Callable[..., Any]) -> None:
    listed = recveil("mechanisms").stdout
    assert "with a proof, what keeps most of lists: dp-streams; ratings: dp-ratings; tags: dp-tags" in listed
    assert "of those with a proof it keeps most of ratings" in recveil("mechanisms", "dp-ratings").stdout
    rated = recveil("inspect", "sample:films?users=40").stdout
    assert "With a proof: for lists take dp-streams, for ratings take dp-ratings." in rated
    assert "With a proof: for" not in recveil("inspect", "sample:sessions?users=40").stdout
    report = judged(shop())
    advice = (Advice("a", True, "why", "lists"), Advice("b", True, "why", "ratings"), Advice("c", False, "no", "tags"))
    told = replace(report, advice=advice)
    assert "With a proof: for lists take a, for ratings take b." in " ".join(text(told))
    assert "With a proof: for lists take a, for ratings take b." in re.sub(r"<[^>]+>", "", html(told))
    assert "With a proof: for" not in " ".join(text(report))
