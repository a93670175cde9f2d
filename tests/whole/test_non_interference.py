"""Nothing outside the budget looks at the data: with the published statistics forced to be equal, two neighbouring
files give the same bundle to the last byte, the same standard output and the same exit code.

The seam is the one place where noise is added: `publish` of a Synthesis, the randomised answer of a Masking. The
owner's own files (the id map, the holdout, the ledger, kept statistics) lie beside the bundle and are not compared.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from doors import PROVED, SEAMS, SPECS
from neighbours import FORMATS, TAGS, UNITS, Pair, Row, catalogue, people, put, world

from recveil.mechanism import Synthesis
from recveil.mechanisms.spec import parse
from recveil.randomness import Source


@dataclass(frozen=True)
class Outcome:
    """All that leaves the house, and what is said."""

    code: int
    stdout: str
    stderr: str
    bundle: dict[str, bytes]


def unit_of(spec: str) -> str:
    from recveil.mechanism import PublicInfo

    none = pl.Series([], dtype=pl.String)
    return parse(spec).guarantee(PublicInfo("tags", "user", none, none, True, ("tags", "users"), none)).unit or ""


def columns_for(spec: str, form: str) -> list[str]:
    needs = parse(spec).needs
    return (
        ["user", "item"]
        if form == "itemsets"
        else ["user", "item", "time", *(c for c in ("rating", "tag") if c in needs)]
    )


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
        if "--catalogue" in options:
            arguments.append("--catalogue-is-public")
        if form == "jsonl":  # whose columns are declared, since nobody's object may say them
            arguments += ["--columns", ",".join(f"{name}={name}" for name in columns_for(spec, form))]
        self.monkeypatch.setattr(sys, "argv", ["recveil", *arguments])
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        said = self.capfd.readouterr()
        bundle = {str(p.relative_to(here)): p.read_bytes() for p in sorted((here / "out").rglob("*")) if p.is_file()}
        return Outcome(int(stopped.value.code or 0), said.out, said.err, bundle)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, monkeypatch, capfd)


def beyond_her_screen(stderr: str) -> list[str]:
    """Warnings count what stands in the data: they are for the owner's own screen."""
    return [line for line in stderr.splitlines() if not line.startswith("warning: ")]


def check(desk: Desk, spec: str, pair: Pair, form: str, *options: object) -> Outcome:
    first, second = (desk.release(spec, rows, form, *options) for rows in (pair.first, pair.second))
    assert first.code == second.code, second.stderr
    assert first.stdout == second.stdout
    assert beyond_her_screen(first.stderr) == beyond_her_screen(second.stderr)
    assert first.bundle.keys() == second.bundle.keys()
    for name in first.bundle:
        assert first.bundle[name] == second.bundle[name], name
    return first


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
    from recveil.mechanism import PublicInfo

    made, none = parse(spec), pl.Series([], dtype=pl.String)
    assert isinstance(made, Synthesis)
    return made.selects(PublicInfo("clicks", "user", none, none, False))


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
    assert (other.code, other.stdout, other.bundle) == (0, one.stdout, one.bundle)
    assert beyond_her_screen(other.stderr) == beyond_her_screen(one.stderr)


def test_tags_of_the_world_are_listed() -> None:
    assert {row["tag"] for row in world(parse("dp-tags:epsilon=1"))} <= set(TAGS)
