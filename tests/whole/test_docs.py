"""Documentation: numbers are those of kept JSON, old and missing ones are said, pages are about what is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from making import atlas, claims, epsilon, kept, links, measure_atlas, readme

import recveil
from recveil.papers.claim import MEANINGS
from recveil.papers.papers import PAPERS

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
ROWS = re.compile(r"^\|.*\|$", re.MULTILINE)


def test_numbers_in_tables_of_the_readme_are_those_of_the_kept_json() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    assert readme.made() in text, "run: PYTHONPATH=docs python -m making.readme"
    assert text == readme.written(text)
    for row in ROWS.findall(readme.PLACE.sub("", text)):
        prose = re.sub(r"`[^`]*`|\([^)]*\.md\)", "", row)
        assert not re.search(r"\d", prose), f"a number that nothing is held against: {row}"


def test_a_changed_number_in_the_readme_is_noticed() -> None:
    text = readme.README.read_text(encoding="utf-8")
    number = kept.facts()["claims"]
    assert f"the {number} published" in text
    assert readme.written(text.replace(f"the {number} published", "the 99999 published")) == text


def test_every_kept_file_can_be_used_and_counts_itself() -> None:
    for room in ("claims", "atlas"):
        assert kept.usable(room) and not kept.faults(room)
    for document in kept.usable("claims"):
        content = document.content
        assert document.name == content["paper"] in PAPERS
        assert content["counts"] == kept.counts(content["claims"])
        assert content["verdicts"].items() <= MEANINGS.items()
    assert tuple(MEANINGS) == kept.VERDICTS


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for below in value.values() for leaf in leaves(below)]
    return [leaf for below in value for leaf in leaves(below)] if isinstance(value, list) else [value]


def test_the_atlas_keeps_aggregates_alone() -> None:
    allowed = {"data", "title", "origin", "version", "made", "kind", "unit", "people", "items", "rows", "assessed",
               "items_of_one_person", "assessed_items", "exposure", "compared", "mechanisms", "skipped"}  # fmt: skip
    for document in kept.usable("atlas"):
        assert set(document.content) <= allowed
        assert len(leaves(document.content)) < 400  # a table of people would be longer


def verdicts_of(document: kept.Document) -> set[str]:
    return {claim["verdict"] for claim in document.content["claims"]}


def test_every_page_of_the_ledger_has_every_claim() -> None:
    made = dict(claims.pages())
    for document in kept.usable("claims"):
        page = made[f"claims/{document.name}.md"]
        rows = [row for row in ROWS.findall(page) if not row.startswith(("| where", "| ---"))]
        assert len(rows) == len(document.content["claims"])
        if "not reproduced" in verdicts_of(document):
            assert 'class="v2"' in page  # a verdict has its colour on every page
    total = len(kept.published(kept.all_claims()))
    assert f"Of {total} numbers" in made["claims/index.md"]


def test_old_and_broken_json_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    for room in ("claims", "atlas"):
        (tmp_path / room).mkdir()
    good = next(d for d in kept.usable("claims") if d.name == "clicks").content
    (tmp_path / "claims" / "clicks.json").write_text(json.dumps(good | {"version": "0.0.1"}))
    (tmp_path / "claims" / "mask.json").write_text(json.dumps({"paper": "mask", "claims": []}))
    (tmp_path / "claims" / "mbrw.json").write_text("half a docu")
    pages = dict(claims.pages(tmp_path))
    assert set(pages) == {"claims/index.md", "claims/clicks.md"}
    assert "Made by version 0.0.1; this is version" in pages["claims/clicks.md"]
    assert "stale" in pages["claims/index.md"]
    assert "mask.json lacks title, version, verdicts: an older version made it; make ledger" in pages["claims/index.md"]
    assert "mbrw.json is not a JSON document" in pages["claims/index.md"]
    (tmp_path / "atlas" / "ml-100k.json").write_text(json.dumps({"data": "ml-100k", "linkage": 0.4}))
    pages = dict(atlas.pages(tmp_path))
    assert set(pages) == {"atlas/index.md"}
    assert (
        "ml-100k.json lacks" in pages["atlas/index.md"] and "Not measured here: diginetica" in pages["atlas/index.md"]
    )
    assert kept.facts(tmp_path)["data_sets"] == "0"


def test_the_atlas_names_what_is_missing_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data" / "ml-100k").mkdir(parents=True)
    rows = recveil.sample("films?users=60,items=60").frame().select("user", "item")
    rows.write_parquet(tmp_path / "data" / "ml-100k" / "ratings.parquet")
    given = ["jester", "ml-100k", "--data", str(tmp_path / "data"), "--kept", str(tmp_path / "atlas")]
    assert measure_atlas.main(given) == 0
    said = capsys.readouterr().out
    assert "jester: left out, jester/ratings.parquet is not there" in said and "ml-100k: all 60 users" in said
    found = kept.usable("atlas", tmp_path)
    assert [d.name for d in found] == ["ml-100k"] and not found[0].stale
    page = dict(atlas.pages(tmp_path))["atlas/ml-100k.md"]
    assert "pseudonymise" in page and "60 people" in page
    assert measure_atlas.main(["nothing", "--data", str(tmp_path)]) == 1
    monkey = capsys.readouterr().err
    assert "no data set is called nothing" in monkey and len(monkey.splitlines()) == 1


def test_pictures_of_epsilon_are_its_definition() -> None:
    assert epsilon.after(0.5, 0.0) == pytest.approx(0.5)
    assert epsilon.after(0.01, 1.0) == pytest.approx(0.0267, abs=1e-4)
    for e in epsilon.EPSILONS:  # no attack may beat the ceiling that reports state for a whole curve
        steps = [k / 2000 for k in range(2001)]
        area = sum(epsilon.named(f, e) for f in steps) / len(steps)
        assert area <= 1 - 1 / (1 + 2.718281828**e) + 1e-3


def test_the_page_of_the_bundle_names_every_field(tmp_path: Path) -> None:
    recveil.release("sample:films?users=60,items=60", "pseudonymise").save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    page = (DOCS / "reference" / "bundle.md").read_text(encoding="utf-8")
    assert {name for name in manifest if f"`{name}`" not in page} == set()
    assert {name for name in manifest["guarantee"] if f"`{name}`" not in page} <= {"rho_fails"}
    assert {path.name for path in (tmp_path / "out").iterdir() if f"`{path.name}`" not in page} == set()


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<p id="a"><a href="b.html#c">b</a><a href="#a">a</a><a href="x.html">x</a>')
    (tmp_path / "b.html").write_text('<p id="d"><a href="https://example.org/nothing">away</a>')
    assert links.broken(tmp_path) == [
        "index.html: b.html#c names no place on that page",
        "index.html: x.html is not there",
    ]


MEASURED = re.compile(r"(?<![\w.,=/^-])-?\.\d{2,}\b|\b\d+(\.\d+)?%|\[\.?\d[\d.]*, \.\d|± \.?\d")
ESTIMATE = re.compile(r"\b\d+(\.\d+)?%|\[-?\.\d+, -?\.\d+\]|± \.\d")  # in proofs other numbers are constants
COMMAND = re.compile(
    r"recveil (?P<asked>reproduce|measure|compare|assess|audit|tune)\b|(?P<file>(benchmarks|tests)(/\w+)+\.py)"
    r"|make (?P<target>atlas|ledger)"
)
QUOTED = re.compile(r"^```.*?^```|`[^`\n]*`|^    .*?$", re.MULTILINE | re.DOTALL)
WRITTEN = [*sorted(DOCS.rglob("*.md")), PROJECT / "deploy" / "README.md", PROJECT / "examples" / "README.md"]


def unmeasured(text: str, figure: re.Pattern[str] = MEASURED) -> list[str]:
    """The sections that have figures and no command that measures them; a script at the page's head measures all."""
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    if any(command["file"] for command in COMMAND.finditer(sections[0])):
        return []
    found = [s for s in sections if figure.search(QUOTED.sub("", s)) and not COMMAND.search(s)]
    return [section.partition("\n")[0] for section in found]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(PROJECT)))
def test_measured_numbers_have_their_command_beside_them(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert unmeasured(text, ESTIMATE if page.parent.name == "guarantees" else MEASURED) == []
    for command in COMMAND.finditer(text):
        if command["file"]:
            assert (PROJECT / command["file"]).is_file(), f"{page.name} names {command[0]}, which is not there"


def test_a_number_without_its_command_is_noticed() -> None:
    page = "# A\n\n## B\n\nRecall .213 by `benchmarks/mask.py`.\n\n## C\n\n| x |\n| .25 [.21, .29] |\n"
    assert unmeasured(page) == ["## C"] == unmeasured(page, ESTIMATE)
    assert unmeasured("# A\n\nReaches 12% of them.\n") == ["# A"]
    assert unmeasured(f"`benchmarks/mask.py` measures it.\n{page}") == []
    assert unmeasured("# A\n\n```sh\nrecveil release --with mask:p=.95\n```\n") == []


@pytest.mark.parametrize("paper", ["pritop", "shuffle-nnn"])
def test_tables_about_a_paper_have_the_figures_of_its_ledger(paper: str) -> None:
    (document,) = (d for d in kept.usable("claims") if d.name == paper)
    if document.content["not_run"]:
        pytest.skip("the reproduction was not run whole")
    known = [float(n) for n in re.findall(r"-?\d*\.\d+", json.dumps(document.content["claims"]))]
    page = (DOCS / "explanation" / f"{paper.replace('-', '_')}.md").read_text(encoding="utf-8")
    shown = re.findall(r"(?<![\w.])-?\.\d{3,}", "".join(ROWS.findall(page)))
    assert len(shown) > 10
    lost = [n for n in shown if not any(abs(float(n) - k) <= 0.51 * 10.0 ** (1 - len(n.lstrip("-"))) for k in known)]
    assert lost == []


def test_the_glossary_has_a_line_for_each_public_name_and_each_option() -> None:
    from making.glossary import names, options, pages

    import recveil

    ((_, page),) = pages()
    for name, text in {**names(), **{option: text for option, (text, _) in options().items()}}.items():
        assert f"| `{name}` | " in page and text.strip(), name
    assert set(names()) == set(recveil.__all__)
    assert {"--with", "--items", "--ledger", "--json"} <= set(options())
