"""A reader's test: the commands of each tutorial and how-to page, copied in order into an empty folder, work."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from making.run_pages import environment, pages, run, script

PROJECT = Path(__file__).parents[2]


def programs(folder: Path) -> dict[str, str]:
    """`recveil` and `python` are those of this checkout, whatever is installed."""
    for name, words in {"recveil": "-m recveil", "python": ""}.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        path.chmod(0o755)
    found = environment(folder / "cache")
    source = os.pathsep.join([str(PROJECT / "src"), os.environ.get("PYTHONPATH", "")])
    return found | {"PATH": f"{folder}:{found['PATH']}", "PYTHONPATH": source}


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    for extra in ("implicit", "fastapi", "securesystemslib"):
        pytest.importorskip(extra)
    for name in ("bin", "empty"):
        (tmp_path / name).mkdir()
    done = run(page, tmp_path / "empty", programs(tmp_path / "bin"))
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


def test_every_tutorial_is_followed() -> None:
    written = {path.stem for path in (PROJECT / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert (
        written
        == {"challenge", "officer", "owner", "platform", "recipient", "researcher"}
        <= {page.stem for page in pages()}
    )


def test_a_page_that_fails_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("```sh\nfalse\n```\n\n```sh\ntouch late\n```\n")
    assert run(tmp_path / "page.md", tmp_path, dict(os.environ)).returncode == 1
    assert not (tmp_path / "late").exists()
    (tmp_path / "page.md").write_text("```python\na = 1\nprint(a)\n```\n\n```python\nprint(a + 1)\n```\n")
    (tmp_path / "bin").mkdir()
    done = run(tmp_path / "page.md", tmp_path, programs(tmp_path / "bin"))
    assert done.stdout == "1\n2\n", script(tmp_path / "page.md")
