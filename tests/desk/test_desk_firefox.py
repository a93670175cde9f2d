"""The release desk in Firefox: the same ways from a file to a signed bundle as in Chromium (make test-extras)."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed: no desk")

from desk_walk import WAYS, check_published, go
from desks import RunningDesk
from firefox import firefox

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("name", WAYS)
def test_from_a_file_to_a_signed_bundle(tmp_path: Path, name: str) -> None:
    way = WAYS[name]
    with RunningDesk(tmp_path / "desk") as desk, firefox(desk, tmp_path / "profile", way.language) as owner:
        go(owner, way, tmp_path, desk)
        check_published(desk)
        outside = [url for url in owner.asked if not url.startswith((desk.base, "about:", "data:", "chrome:"))]
        assert outside == []
        assert owner.complaints == []
