"""blur: what it adds and removes, who it must be told of, and what attackers make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.api.functions import compare as face_compare
from recveil.api.functions import measure as face_measure
from recveil.api.functions import release as face_release
from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.attacks.additions import additions
from recveil.evaluation.attacks.attributes import attributes
from recveil.evaluation.attacks.truth import truth
from recveil.evaluation.people import groups, informed
from recveil.measurement import Trial, trial
from recveil.mechanisms.blur import Blur
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.mechanisms.spec import parse, text
from recveil.releases.release import release
from recveil.views.records import records

Run = Callable[..., Any]


def two_tastes(n: int = 240, seed: int = 0) -> tuple[Interactions, dict[str, bool]]:
    """Everybody has 20 of 120 items; those with the attribute prefer the first half of them."""
    rng = np.random.default_rng(seed)
    user, item = [], []
    for u in range(n):
        taste = np.where(np.arange(120) < 60, 1.0, 0.5) if u % 2 else np.where(np.arange(120) < 60, 0.5, 1.0)
        user += [f"p{u}"] * 20
        item += rng.choice(120, 20, replace=False, p=taste / taste.sum()).tolist()
    return from_ids(pl.Series(user), pl.Series(item)), {f"p{u}": u % 2 == 1 for u in range(n)}


def sets(data: Interactions, by: pl.DataFrame | None = None) -> dict[str, set[int]]:
    frame = data.frame()
    if by is not None:
        frame = frame.join(by, left_on="user", right_on="released").select(user="original", item="item")
    return {name[0]: set(part["item"]) for name, part in frame.group_by("user")}


def blurred(style: str, share: float = 0.1, seed: int = 1) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    data, who = two_tastes()
    made = release(data, Blur(style, share).informed(who), seed=seed)
    return sets(data), sets(made.data, made.id_map)


@pytest.mark.parametrize("style", ["greedy", "sampled", "blurmore", "perblur"])
def test_as_many_items_as_asked_are_added_and_removed(style: str) -> None:
    before, after = blurred(style)
    for person, mine in before.items():
        assert len(after[person] - mine) == 2
        assert len(mine - after[person]) == (2 if style in ("blurmore", "perblur") else 0)


def test_added_items_are_typical_of_the_others() -> None:
    before, after = blurred("greedy")
    added = {person: after[person] - mine for person, mine in before.items()}
    theirs = [i < 60 for person, items in added.items() for i in items if int(person[1:]) % 2 == 0]
    assert np.mean(theirs) > 0.95
    again = blurred("sampled", seed=2)[1]
    assert again != blurred("sampled", seed=3)[1], "sampled draws, greedy does not"
    assert after == blurred("greedy", seed=3)[1]


def test_people_who_are_not_in_the_table_stay_as_they_are() -> None:
    data, who = two_tastes()
    few = {name: has for name, has in who.items() if int(name[1:]) < 100}
    made = release(data, Blur("blurmore", 0.2).informed(few), seed=1)
    before, after = sets(data), sets(made.data, made.id_map)
    assert all((before[p] == after[p]) is (int(p[1:]) >= 100) for p in before)


def test_it_says_what_it_must_be_told() -> None:
    data, who = two_tastes()
    with pytest.raises(RecveilError, match=r"--attributes users\.csv"):
        release(data, Blur())
    with pytest.raises(RecveilError, match="people in the data who have the attribute"):
        release(data, Blur().informed(dict.fromkeys(who, True)))
    table = pl.DataFrame(
        {"user": list(who), "gender": ["F" if has else "M" for has in who.values()], "age": 30, "town": list(who)}
    )
    with pytest.raises(RecveilError, match="attribute=NAME, of gender, age, town"):
        informed(Blur(), table)
    with pytest.raises(RecveilError, match="did you mean gender"):
        informed(Blur(attribute="gende"), table)
    with pytest.raises(RecveilError, match="town does not make two groups"):
        informed(Blur(attribute="town"), table)
    with pytest.raises(RecveilError, match="pseudonymise does not look at what people are"):
        informed(Pseudonymise(), table)
    assert groups(table, "gender") in (who, {name: not has for name, has in who.items()})


def test_nothing_that_it_was_told_goes_with_the_release() -> None:
    data, who = two_tastes()
    made = release(data, Blur().informed(who), seed=1)
    assert "_groups" not in vars(made.mechanism) and text(made.mechanism) == "blur"
    assert parse("blur:style=perblur,share=0.05,attribute=gender").card().count("can publish what it hides") == 1
    assert made.guarantee.status == "none"


def attacked(style: str) -> tuple[Trial, dict[str, float]]:
    data, who = two_tastes(600)
    made = release(data, Blur(style, 0.3).informed(who), seed=1)
    label = np.array([who[name] for name in data.users]).astype(np.int8)
    subject = replace(trial(data, made.data, id_map=made.id_map), attributes={"odd": (label, None)})
    found = attributes(subject, np.random.default_rng(0))
    return subject, {str(m.params.get("trained", m.params.get("by"))): m.value for m in found}


def test_it_fools_the_naive_attacker_and_tells_the_aware_one() -> None:
    subject, found = attacked("greedy")
    assert found["clean"] < 0.5 < 0.9 < found["aware"]
    assert found["popularity"] > 0.9, "what everybody gets stands out"
    assert 0.5 < attacked("sampled")[1]["popularity"] < found["popularity"]
    train, released = records(subject.train), records(subject.released)
    whose = truth(train, released, subject.owner)
    rows = additions(subject.train, train, released, whose, np.random.default_rng(0))
    assert all(m.low <= m.value <= m.high and m.control == pytest.approx(0.5, abs=0.05) for m in rows)


def test_from_the_command_line_and_from_python(tmp_path: Path, recveil: Run) -> None:
    data, who = two_tastes(80)
    rows, table = tmp_path / "likes.csv", tmp_path / "users.csv"
    data.frame().write_csv(rows)
    pl.DataFrame({"user": list(who), "gender": ["F" if has else "M" for has in who.values()]}).write_csv(table)
    made = recveil(
        "release", str(rows), "--with", "blur:share=0.2", "--attributes", str(table), "-o", str(tmp_path / "o")
    )
    assert "guarantee (none)" in made.stdout
    card = (tmp_path / "o" / "README.md").read_text()
    assert "can publish what it hides" in card and "p17" not in card
    refused = recveil("release", str(rows), "--with", "blur", "-o", str(tmp_path / "p"), code=1)
    assert refused.stderr.count("\n") == 1 and "--attributes users.csv" in refused.stderr
    face = face_release(data, "blur:share=0.2", seed=1, attributes=str(table))
    assert len(face.data) == 80 * 24


def test_compare_holds_the_naive_against_the_aware_attacker() -> None:
    data, who = two_tastes(300)
    table = pl.DataFrame({"user": list(who), "odd": ["yes" if has else "no" for has in who.values()]})
    report = face_compare(data, ["blur:share=0.3", "pseudonymise"], only=["attributes"], attributes=table)
    ways = {(m.mechanism, m.params.get("trained", m.params.get("by"))) for m in report.measurements}
    assert {("blur:share=0.3", way) for way in ("clean", "aware", "popularity", "misfit")} <= ways
    assert ("pseudonymise", "aware") in ways and ("pseudonymise", "misfit") not in ways
    with pytest.raises(RecveilError, match="must be told who has it"):
        face_compare(data, ["blur"], only=["linkage"])


def test_a_blurred_release_is_attacked_with_shadows_of_its_own() -> None:
    data, who = two_tastes(80)
    table = pl.DataFrame({"user": list(who), "odd": ["yes" if has else "no" for has in who.values()]})
    made = face_release(data, "blur:share=0.2", seed=1, attributes=table)
    found = face_measure(data, made, only=["shadow"], shadows=8, attributes=table)
    assert next(m for m in found.measurements if m.name == "shadow-auc").low > 0.9
