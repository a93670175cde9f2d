"""The release desk in Firefox: the same ways from a file to a signed bundle as in Chromium (make test-extras)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed: no desk")

from desk_walk import PATIENCE, Wishes, held_back, odd_file, session_file, walk
from desks import RunningDesk
from firefox import Firefox, firefox

from recveil.desk.verification import verify_bundle

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("default")]


def sample(to: Firefox, _: Path) -> None:
    to.open("start")
    to.click(".sample")


def odd(to: Firefox, folder: Path) -> None:
    to.open("start")
    to.give("#file", odd_file(folder))
    to.wait("#found .problem", PATIENCE)
    for row, role in enumerate(("user", "item", "rating"), 1):
        to.select(f"#found tbody tr:nth-child({row}) select", role)
    to.click("#found form button")


def sessions(to: Firefox, folder: Path) -> None:
    to.open("start")
    to.give("#file", session_file(folder))


@pytest.mark.parametrize(
    ("begin", "wishes", "language"),
    [
        (odd, Wishes("mask"), "de"),
        (sample, Wishes("dp-ratings:epsilon=4,delta=1e-6,scale=1..5"), "en"),
        (sessions, Wishes("mbrw", to="contractor"), "en"),
    ],
)
def test_from_a_file_to_a_signed_bundle(
    tmp_path: Path, begin: Callable[[Firefox, Path], None], wishes: Wishes, language: str
) -> None:
    with RunningDesk(tmp_path / "desk") as desk, firefox(desk, tmp_path / "profile", language) as owner:
        begin(owner, tmp_path)
        owner.wait("#found .big", PATIENCE)
        walk(owner, wishes)
        found = desk.get("/api/published")
        assert verify_bundle(desk.folder / found["place"] / "bundle").problems == ()
        assert held_back(desk.state()) == []
        outside = [url for url in owner.asked if not url.startswith((desk.base, "about:", "data:", "chrome:"))]
        assert outside == []
        assert owner.complaints == []
