"""Nothing outside the budget looks at the data: with the published statistics forced to be equal, two neighbouring
files give the same bundle to the last byte, the same standard output and the same exit code.

The seam is the one place where noise is added: `publish` of a Synthesis, the randomised answer of a Masking. The
owner's own files (the id map, the holdout, the ledger, kept statistics) lie beside the bundle and are not compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neighbours import FORMATS, ITEMS, TAGS, UNITS, Pair, Row, catalogue, filled, people, put, world
from test_contracts import mechanism

from recveil.desk.release import is_proved
from recveil.mechanism import Masking, Synthesis
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.spec import parse, text
from recveil.randomness import Source

# Strong enough for the little world that every mechanism publishes something; with all that a proof may protect.
SPECS = {
    "dp-streams": ["dp-streams:epsilon=90,delta=0.01,k=40"],
    "dp-tags": ["dp-tags:epsilon=60", "dp-tags:epsilon=90,delta=0.01,unit=user"],
    "dp-post-tags": ["dp-post-tags:epsilon=4"],
    "mask": ["mask:p=0.8"],
}
PROVED = [
    spec for name in sorted(MECHANISMS) for spec in SPECS.get(name, [text(mechanism(name))]) if is_proved(parse(spec))
]
OTHER_FORMATS = sorted(set(FORMATS) - {"csv"})


@dataclass(frozen=True)
class Outcome:
    """All that leaves the house, and what is said."""

    code: int
    stdout: str
    stderr: str
    bundle: dict[str, bytes]


def unit_of(spec: str) -> str:
    from recveil.mechanism import Public

    none = pl.Series([], dtype=pl.String)
    return parse(spec).guarantee(Public("tags", "user", none, none, True, ("tags", "users"), none)).unit or ""


def columns_for(spec: str, form: str) -> list[str]:
    needs = parse(spec).needs
    return (
        ["user", "item"]
        if form == "itemsets"
        else ["user", "item", "time", *(c for c in ("rating", "tag") if c in needs)]
    )


def holds(spec: str, form: str) -> bool:
    """Whether a format can hold what a mechanism needs."""
    return form != "itemsets" or not parse(spec).needs


class Desk:
    """The whole command, with no chance in it but the published statistics, which are always those of the first run."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.monkeypatch, self.capfd, self.runs = folder, monkeypatch, capfd, 0
        monkeypatch.setattr("recveil.randomness.entropy", lambda: Source(bytes(32), seeded=False))

    def force(self, spec: str) -> None:
        """What is published is what a release of the world without neighbours publishes."""
        made = type(parse(spec))
        kept: dict[int, Any] = {}
        if issubclass(made, Synthesis):
            honest = made.publish

            def forced(self: Any, counts: Any, published: Any, *rest: Any) -> Any:
                number = len(published)
                if number not in kept:
                    kept[number] = honest(self, counts, published, *rest)
                return kept[number]

            self.monkeypatch.setattr(made, "publish", forced)
        else:
            SEAMS[made.name](self.monkeypatch)

    def release(self, spec: str, rows: list[Row], form: str, *options: object) -> Outcome:
        from recveil.cli import main

        self.runs += 1
        here = self.folder / f"run-{self.runs}"
        here.mkdir()
        put(rows, columns_for(spec, form), form, here)
        self.monkeypatch.chdir(here)
        arguments = ["release", f"data.{form}", "--with", spec, "-o", "out", *map(str, options)]
        self.monkeypatch.setattr(sys, "argv", ["recveil", *arguments])
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        said = self.capfd.readouterr()
        bundle = {str(p.relative_to(here)): p.read_bytes() for p in sorted((here / "out").rglob("*")) if p.is_file()}
        return Outcome(int(stopped.value.code or 0), said.out, said.err, bundle)


def force_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is that of somebody who has nothing."""
    from recveil.kernels import flips

    honest = flips.flip_profiles

    def forced(starts: Any, items: Any, *rest: Any) -> Any:
        return honest(np.zeros_like(starts), items[:0], *rest)

    monkeypatch.setattr(flips, "flip_profiles", forced)


def force_post_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noisy tables as at first, and always the first of the likely tags."""
    from recveil.mechanisms.dp_tags import posts

    honest, kept = posts.DpPostTags.plan, []

    def forced(self: Any, counts: Any, source: Any) -> Any:
        if not kept:
            kept.append(honest(self, counts, source))
        return kept[0]

    monkeypatch.setattr(posts.DpPostTags, "plan", forced)
    monkeypatch.setattr(posts, "respond", lambda z, inside, place, weight: np.zeros(len(z), dtype=np.int64))  # noqa: ARG005


SEAMS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {"mask": force_mask, "dp-post-tags": force_post_tags}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capfd)


def check(desk: Desk, spec: str, pair: Pair, form: str, *options: object) -> Outcome:
    first, second = (desk.release(spec, rows, form, *options) for rows in (pair.first, pair.second))
    assert first.code == second.code, second.stderr
    assert first.stdout == second.stdout
    assert first.stderr == second.stderr
    assert first.bundle.keys() == second.bundle.keys()
    for name in first.bundle:
        assert first.bundle[name] == second.bundle[name], name
    return first


def test_every_proved_mechanism_has_a_seam() -> None:
    assert PROVED
    for spec in PROVED:
        made = parse(spec)
        assert isinstance(made, Synthesis) or made.name in SEAMS, f"{made.name}: say where its answers are randomised"
        assert unit_of(spec) in UNITS, f"{spec}: say what its neighbours are"
        assert isinstance(made, Synthesis | Masking)


@pytest.mark.parametrize("spec", PROVED)
def test_neighbours_with_public_lists(spec: str, desk: Desk) -> None:
    lists = catalogue(desk.folder)
    made = parse(spec)
    desk.force(spec)
    first = desk.release(spec, world(made), "csv", "--catalogue", lists)
    assert first.code == 0 and first.bundle, first.stderr
    token = str(pl.read_parquet(desk.folder / "run-1" / "out" / "data.parquet")["user"][0])
    pairs = people(made, token) if unit_of(spec) == "user" else UNITS[unit_of(spec)](made)
    for case, pair in pairs.items():
        try:
            check(desk, spec, pair, "csv", "--catalogue", lists)
        except AssertionError as fault:
            raise AssertionError(f"{case}: {fault}") from fault
    check(
        desk,
        spec,
        next(iter(pairs.values())),
        "csv",
        "--catalogue",
        lists,
        "--holdout",
        0.3,
        "--holdout-file",
        "held.parquet",
    )


@pytest.mark.parametrize("form", OTHER_FORMATS)
@pytest.mark.parametrize("spec", PROVED)
def test_neighbours_in_every_format(spec: str, form: str, desk: Desk) -> None:
    """All oddities of a person (a row, a bit, a tag) at once."""
    if not holds(spec, form):
        pytest.skip("the format has no such column")
    lists = catalogue(desk.folder, numbers=form != "tsv")
    made, unit = parse(spec), unit_of(spec)
    desk.force(spec)
    desk.release(spec, world(made), "csv", "--catalogue", lists)
    check(desk, spec, together(UNITS[unit](made), unit), form, "--catalogue", lists)


def together(pairs: dict[str, Pair], unit: str) -> Pair:
    """One person with the rows of all; elsewhere the oddest pair."""
    if unit != "user":
        odd = {"record": "a new item", "bit": "one outside the list", "tag": "beside one that is not listed"}
        return pairs[odd[unit]]
    base = pairs["a new item"].first
    more = [row for pair in pairs.values() for row in pair.second if pair.first == base and row not in base]
    return Pair(base, [*base[:9], *({**row, "user": "zoe"} for row in more if row["user"]), *base[9:]])


@pytest.mark.parametrize("spec", [s for s in PROVED if issubclass(type(parse(s)), Synthesis) and unit_of(s) == "user"])
def test_neighbours_without_public_lists(spec: str, desk: Desk) -> None:
    """What is selected within the budget is forced too; who is not selected leaves no trace, in a type or elsewhere."""
    if "items" not in selected(spec):
        pytest.skip("items are the platform's catalogue, and public")
    made = parse(spec)
    desk.force(spec)
    assert desk.release(spec, world(made), "csv").code == 0
    for case in ("a new type of id", "a number beyond 64 bits", "a date", "an empty person"):
        check(desk, spec, people(made)[case], "csv")


def selected(spec: str) -> tuple[str, ...]:
    from recveil.mechanism import Public

    made, none = parse(spec), pl.Series([], dtype=pl.String)
    assert isinstance(made, Synthesis)
    return made.selects(Public("clicks", "user", none, none, False))


odd = st.sampled_from(["3", "x", "", "NaN", "007", "1.5", str(2**63), "é", "-4"])
times = st.sampled_from(["1500000001", "1.25", "2020-02-30", "2020-02-29", "", str(2**62), "-1"])


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(odd, st.sampled_from([*ITEMS, "x", "", "0.5"]), times), min_size=1, max_size=5))
def test_any_person(rows: list[tuple[str, str, str]], desk: Desk) -> None:
    spec = SPECS["dp-streams"][0]
    made, lists = parse(spec), catalogue(desk.folder)
    base = world(made)
    if not desk.runs:
        desk.force(spec)
        desk.release(spec, base, "csv", "--catalogue", lists)
    user = next((user for user, *_ in rows if user), "zoe")
    hers = [filled(made, user=f"new {user}", item=item, time=time) for _, item, time in rows]
    check(desk, spec, Pair(base, [*hers[:1], *base, *hers[1:]]), "csv", "--catalogue", lists)


@pytest.mark.parametrize("spec", PROVED)
def test_neighbours_with_lists_that_lack_everything(spec: str, desk: Desk) -> None:
    """Zero counts, to which noise is added: what comes of it, a release or a refusal, is the same."""
    lists = desk.folder / "others.parquet"
    pl.DataFrame({"item": [f"o{n}" for n in range(30)], "tag": [f"q{n}" for n in range(30)]}).write_parquet(lists)
    desk.force(spec)
    pairs = UNITS[unit_of(spec)](parse(spec))
    desk.release(spec, world(parse(spec)), "csv", "--catalogue", lists)
    check(desk, spec, together(pairs, unit_of(spec)), "csv", "--catalogue", lists)


def test_neighbours_whose_sessions_have_the_names_of_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that belongs to two users is two sessions."""
    spec = SPECS["dp-streams"][0]
    base = [{**row, "session": f"s{n // 4}"} for n, row in enumerate(world(parse(spec)))]
    hers = [{**row, "user": "7000", "session": f"s{n % 5}"} for n, row in enumerate(base[:40])]
    monkeypatch.setattr("test_non_interference.columns_for", lambda *_: ["user", "session", "item", "time"])
    lists = catalogue(desk.folder)
    desk.force(spec)
    assert desk.release(spec, base, "csv", "--catalogue", lists).code == 0
    first = check(desk, spec, Pair(base, [*hers[:9], *base, *hers[9:]]), "csv", "--catalogue", lists)
    assert first.bundle


@pytest.mark.parametrize("form", ["csv", "jsonl", "itemsets"])
@pytest.mark.parametrize("spec", [SPECS["dp-streams"][0], "mask:p=0.8"])
def test_neighbours_with_lines_that_are_no_rows(spec: str, form: str, desk: Desk, monkeypatch: Any) -> None:
    """Lines as they stand in a file, of a person whose id cannot be read or of one who is there."""
    from test_lines import ODD

    lists, honest, made = catalogue(desk.folder), FORMATS[form], parse(spec)
    desk.force(spec)
    desk.release(spec, world(made), "csv", "--catalogue", lists)
    odd = [line.replace(b"77", b"7") for line in ODD[form] if b"78" not in line]
    if not isinstance(made, Synthesis):
        odd = [line for line in odd if line.startswith((b"7", b'"7"', b'{"user": 7,'))]  # who is in the file is public
    outcomes = []
    for more in (b"", b"\n".join(odd)):
        monkeypatch.setitem(FORMATS, form, lambda *rows, more=more: honest(*rows) + more)
        outcomes.append(desk.release(spec, world(made), form, "--catalogue", lists))
    one, other = outcomes
    assert one.code == 0 and one.bundle
    assert (other.code, other.stdout, other.stderr, other.bundle) == (0, one.stdout, one.stderr, one.bundle)


def test_tags_of_the_world_are_listed() -> None:
    assert {row["tag"] for row in world(parse("dp-tags:epsilon=1"))} <= set(TAGS)
