"""Series in the folder of a project, on the last page of its desk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
pytest.importorskip("securesystemslib", reason="the extra `sign` is not installed: no tests of the desk")
from chromium import Chromium
from desks import RunningDesk
from shops import log, released, shop

from recveil.desk.project import views
from recveil.desk.project.folder import open_project


def test_a_series_of_the_folder_is_shown_and_a_broken_one_said(tmp_path: Path) -> None:
    project = open_project(tmp_path)
    assert views.watch(project)["series"] == []
    released(shop(tmp_path), log(), 2)
    found = views.watch(project)
    assert [(one["series"], one["left"], one["spent_on_a_person"]) for one in found["series"]] == [
        ("shop.series", 2, 0.5)
    ]
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "series.json").write_text("{")
    found = views.watch(project)
    assert len(found["series"]) == 1 and "odd is not a series" in found["problems"][0]


def test_an_owner_sees_windows_what_is_left_and_the_next_date(browser: Any, tmp_path: Path) -> None:
    released(shop(tmp_path, participations=4), log(people=600), 3)
    with RunningDesk(tmp_path, "sample:films?users=60,items=30") as desk:
        desk.until_idle()
        assert "recveil series show shop.series" in desk.state()["commands"]["watch"]
        owner = Chromium(browser, desk, viewport={"width": 390, "height": 800})
        owner.open("watch")
        owner.wait(".windows")
        assert owner.page.locator(".windows i").count() == 4 and owner.page.locator(".windows .hollow").count() == 1
        said = owner.text("#screen")
        assert "3 of 4" in said and "25%" in said and "have ended and wait" in said
        assert "the next window ends" not in said  # the last one has ended long ago
        assert owner.page.evaluate("document.documentElement.scrollWidth") <= 390
        owner.page.set_viewport_size({"width": 1280, "height": 900})
        owner.page.screenshot(path=str(tmp_path / "series.png"), full_page=True)
        owner.close()
