"""The first hour with one's own data: from an unknown csv to a report and a verified bundle, by typing only what the
tool itself suggested.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from shlex import split
from typing import Any

import polars as pl
import pytest

from recveil.samples import sample

WAY = ["assess", "compare", "release", "measure", "decide", "verify"]
Run = Callable[..., Any]
SUGGESTED = re.compile(r"^ {4}(recveil .+)$", re.MULTILINE)


def films(path: Path) -> None:
    """A film site's export, with names of columns that are recognised and one that is personal."""
    rows = sample("films?users=1000").frame()
    mails = pl.format("{}@example.org", pl.col("user")).alias("email")
    rows.with_columns(mails).rename({"user": "userId", "item": "movieId", "time": "timestamp"}).write_csv(path)


def shop(path: Path) -> None:
    """A shop's log whose columns nobody could recognise."""
    rows = sample("sessions?users=4000").frame()
    rows.rename({rows.columns[0]: "besuch", "item": "artikel", "time": "zeit"}).write_csv(path, separator=";")


def tagging(path: Path) -> None:
    """A tagging site's posts."""
    sample("tags?users=600").frame().rename({"user": "uid", "item": "bookmark"}).write_csv(path)


@pytest.mark.parametrize(
    "log", [films, pytest.param(shop, marks=pytest.mark.slow), pytest.param(tagging, marks=pytest.mark.slow)]
)
def test_the_first_hour(recveil: Run, tmp_path: Path, log: Callable[[Path], None]) -> None:
    log(tmp_path / "export of today.csv")
    typed = ["inspect", "export of today.csv"]
    said = recveil(*typed, code=1 if log is shop else 0)
    if log is shop:  # the line that refuses shows what to type instead
        typed = split(said.stderr.partition("as in: ")[2])[1:]
        assert typed[:2] == ["inspect", "export of today.csv"]
        said = recveil(*typed)
    assert "what a release protects" in said.stdout
    commands = [split(line)[1:] for line in SUGGESTED.findall(said.stdout)]
    assert [command[0] for command in commands] == WAY
    for command in commands:
        done = recveil(*command, *(["--only", "popularity"] if command[0] == "measure" else []))
        assert done.stdout.strip()
    assert (tmp_path / "report.html").stat().st_size > 50_000
    assert (tmp_path / "out" / "manifest.json").is_file()
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Quick run, not for signing" in page and "example.org" not in page
    said = re.sub(r"<[^>]*>", "", page.partition("<h1>")[2].partition("</h1>")[0])
    assert said.startswith(("Best with a promise: dp-", "No release here with a promise", "None of these"))
