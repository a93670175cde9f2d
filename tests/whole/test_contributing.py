"""CONTRIBUTING, followed in a copy: a toy mechanism, attack and metric, and nothing touched but what it names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]

THINNED = '''"""thinned: every row stays with one chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recveil import kernels
from recveil.data import Interactions
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo, Within, parameter
from recveil.randomness import Source


@dataclass(frozen=True)
class Thinned(Masking):
    """Rows stay or go by chance alone."""

    name = "thinned"
    purpose = "A toy: fewer rows to know somebody by."

    percent: int = parameter(70, about="of the rows that stay", rule=Within(1, 100))

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return nothing("Whoever knows a few of the rows that stayed can find her record.")

    def card(self) -> str:
        return (
            f"Of each person's rows {self.percent} in a hundred stayed, by chance. Whoever knows some that stayed can "
            "find her record and read the others."
        )

    def mask(self, chunk: Interactions, plan: Any, source: Source) -> Masked:
        bounds, key = np.full(len(chunk), 100), source.derive("stay").key()
        drawn = kernels.draws.below_per_group(chunk.starts("user"), chunk.keys("user"), bounds, key)
        return Masked(chunk.take(np.flatnonzero(drawn < self.percent)), chunk.users)
'''
GERMAN = {
    "Of each person's rows {percent} in a hundred stayed, by chance.": "Von hundert Zeilen blieben {percent}.",
    "Whoever knows some that stayed can find her record and read the others.": "Wer einige kennt, findet die anderen.",
    "Whoever knows a few of the rows that stayed can find her record.": "Wer einige kennt, findet den Datensatz.",
}
GUESSED = '''"""guessed: whether a person is in the data, as an attack of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recveil.evaluation.attacks.membership import membership
from recveil.measurement import Measurement, Trial


def guessed(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """What membership finds, under another name."""
    return [replace(found, name=f"guessed-{found.name}") for found in membership(trial, rng)]
'''
LONGEST = '''"""longest: what is left of the longest profile."""

from __future__ import annotations

import numpy as np

from recveil.measurement import Measurement, Trial


def longest(trial: Trial, rng: np.random.Generator) -> list[Measurement]:  # noqa: ARG001
    """Its length in the release, as a share of that in the data."""
    before, after = (int(np.bincount(part.user).max()) for part in (trial.train, trial.released))
    return [Measurement("longest", after / before, after / before, after / before, n=1)]
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with what CONTRIBUTING asks for: three files, a line in each of two catalogues, a line of news."""
    place = tmp_path_factory.mktemp("contributed") / "main"
    place.mkdir()
    for part in ("src", "tests"):
        shutil.copytree(
            PROJECT / part, place / part, ignore=shutil.ignore_patterns("static")
        )  # compiled kernels go with it
    shutil.copy(PROJECT / "pyproject.toml", place)
    room = place / "src" / "recveil"
    (room / "mechanisms" / "thinned.py").write_text(THINNED, encoding="utf-8")
    (room / "evaluation" / "attacks" / "guessed.py").write_text(GUESSED, encoding="utf-8")
    (room / "evaluation" / "metrics" / "longest.py").write_text(LONGEST, encoding="utf-8")
    change(room / "mechanisms" / "__init__.py", "        Threshold,\n", "        Threshold,\n        Thinned,\n")
    change(
        room / "mechanisms" / "__init__.py",
        "from recveil.mechanisms.threshold import Threshold\n",
        "from recveil.mechanisms.thinned import Thinned\nfrom recveil.mechanisms.threshold import Threshold\n",
    )
    german = room / "web" / "messages" / "said.de.json"
    said = json.loads(german.read_text(encoding="utf-8"))
    german.write_text(json.dumps({**said, **GERMAN}, ensure_ascii=False), encoding="utf-8")
    change(
        room / "evaluation" / "catalogue.py",
        "MEASURES: dict[str, MeasureEntry] = {\n",
        "MEASURES: dict[str, MeasureEntry] = {\n"
        '    "guessed": _attack("attacks.guessed:guessed", INFERENCE, "all that one person did"),\n'
        '    "longest": _use("metrics.longest:longest"),\n',
    )
    return place


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file.name} has {old!r} {text.count(old)} times"
    file.write_text(text.replace(old, new), encoding="utf-8")


def run(place: Path, *words: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(place / "src")}
    done = subprocess.run([sys.executable, "-m", *words], cwd=place, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_the_contracts_pick_up_a_mechanism(copy: Path) -> None:
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/mechanisms/test_contracts.py", "-k", "thinned")


def test_the_contracts_pick_up_an_attack(copy: Path) -> None:
    run(
        copy,
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/evaluation/test_attacks.py",
        "-k",
        "guessed and (succeeds or control)",
    )


def test_the_fences_stand_and_nothing_else_knows_them_by_name(copy: Path) -> None:
    which = "one_way or no_chain or circle or by_name or one_idea or listed_room or step_of_its_own"
    run(copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/whole/test_architecture.py", "-k", which)


def test_the_command_line_has_all_three(copy: Path) -> None:
    assert "rows to know somebody by" in run(copy, "recveil", "mechanisms")
    asked = ("--with", "thinned:percent=50", "--only", "guessed,longest", "--no-cache", "--json")
    shown = run(copy, "recveil", "compare", "sample:films?users=200,items=80", *asked)
    assert '"guessed-' in shown and '"longest"' in shown
