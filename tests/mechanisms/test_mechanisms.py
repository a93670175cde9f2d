"""The catalogue: described from the classes, open to newcomers and to other packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from recveil.data import Interactions
from recveil.evaluation.advice import advise
from recveil.evaluation.audit import audit
from recveil.evaluation.compare import compare
from recveil.evaluation.design import Design
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo, Within, parameter
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.describe import describe
from recveil.mechanisms.spec import parse
from recveil.randomness import Source
from recveil.releases.bundle import load, save
from recveil.releases.release import release
from recveil.samples import sample

Run = Callable[..., Any]


@dataclass(frozen=True)
class Forgetful(Masking):
    """Every row is left out with a stated probability: the one file that a newcomer writes."""

    name = "forgetful"
    purpose = "A toy."

    share: float = parameter(0.2, about="the share of rows left out", rule=Within(0, 1, open_high=True))

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return nothing("Rows that stay are as they were.")

    def card(self) -> str:
        return "Rows were left out at random."

    def mask(self, chunk: Interactions, plan: Any, source: Source) -> Masked:
        seeds = chunk.keys("user")[chunk.user] ^ chunk.keys("item")[chunk.item]
        kept = source.derive("row").names(seeds.tolist()) >= self.share * 2**63
        return Masked(chunk.take(kept), chunk.users)


@pytest.fixture
def newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, Forgetful.name, Forgetful)  # the one line


@pytest.mark.usefixtures("newcomer")
def test_a_newcomer_is_one_file_and_one_line(tmp_path: Path) -> None:
    data = sample("films?users=60,items=60")
    assert any(a.mechanism == "forgetful" and a.why == "A toy." for a in advise(data))
    made = release(data, parse("forgetful:share=0.5"), seed=1)
    assert 0.4 * len(data) < len(made.data) < 0.6 * len(data)
    save(made, tmp_path / "out")
    assert load(tmp_path / "out").manifest["spec"] == "forgetful:share=0.5"
    report = compare(data, ["forgetful"], Design(only=("linkage",)))
    assert report.entries[0].spec == "forgetful" and report.measurements
    assert audit(parse("forgetful"), runs=20, seed=1).verdict == "no claim"
    assert describe(Forgetful)["parameters"][0]["rule"] == "in [0, 1)"


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_the_command_describes_every_mechanism(name: str, recveil: Run) -> None:
    found = recveil("mechanisms", name, json_answer=True)
    mechanism = MECHANISMS[name]
    assert found["name"] == name and found["for"] == mechanism.purpose and found["promise"]["sentence"]
    assert [p["name"] for p in found["parameters"]] == [f.name for f in fields(mechanism)]
    assert all(p["about"] for p in found["parameters"])
    assert parse(found["example"]).name == name


def test_the_list_has_them_all(recveil: Run) -> None:
    assert [m["name"] for m in recveil("mechanisms", json_answer=True)["mechanisms"]] == list(MECHANISMS)
    shown = recveil("mechanisms").stdout
    assert all(name in shown for name in MECHANISMS)
    assert "default" in recveil("mechanisms", "mask").stdout
    assert "did you mean mask" in recveil("mechanisms", "mas", code=1).stderr


def test_another_package_adds_a_mechanism_by_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(
        dedent("""
        from recveil import Masking
        from recveil.guarantee import nothing
        from recveil.mechanism import Masked

        class Theirs(Masking):
            "Rows as they are."
            name = "theirs"
            def guarantee(self, public): return nothing("Nothing.")
            def card(self): return "Nothing was done."
            def mask(self, chunk, plan, source): return Masked(chunk, chunk.users)
        """),
        encoding="utf-8",
    )
    facts = tmp_path / "theirs-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n", encoding="utf-8")
    points = facts / "entry_points.txt"
    points.write_text("[recveil.mechanisms]\ntheirs = theirs:Theirs\n", encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        return subprocess.run(
            [sys.executable, "-m", "recveil", *arguments],
            capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path}, cwd=tmp_path,
        )  # fmt: skip

    assert "Rows as they are." in run("mechanisms", "theirs").stdout
    done = run("release", "sample:films?users=30,items=60", "--with", "theirs", "-o", "out")
    assert done.returncode == 0, done.stderr
    points.write_text("[recveil.mechanisms]\ntheirs = theirs:nothing\n", encoding="utf-8")
    refused = run("mechanisms")
    assert refused.returncode == 1 and "is not a mechanism; remove its package" in refused.stderr
