"""My own history: exports of platforms are read on the device, and nothing of them leaves it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from advisor_server import COUNTS, Server
from visits import Visit

pytest.importorskip("fastapi", reason="the extra serve is not installed: no browser tests of it")

EXPORTS = {
    "ViewingActivity.csv": 'Title,Date\n"Niche: Season 1: ""One"", two",1/2/24\nCrowd,1/3/24\nElsewhere,1/4/24\n',
    "full.csv": "Profile Name,Title,Duration\nme,Niche: Season 2: X,1\nme,CROWD,1\nme,Elsewhere,2\n",
    "Streaming_History_Audio_2024.json": json.dumps(
        [
            {"ts": "2024", "master_metadata_track_name": "Crowd", "master_metadata_album_artist_name": "Someone"},
            {"ts": "2024", "master_metadata_track_name": "x", "master_metadata_album_artist_name": "Niche"},
            {"ts": "2024", "master_metadata_track_name": "Elsewhere", "master_metadata_album_artist_name": "y"},
        ]
    ),
    "watch-history.json": json.dumps([{"title": f"Watched {name}"} for name in ("Crowd", "Niche", "Elsewhere")]),
    "Retail.OrderHistory.1.csv": '"Order ID","Product Name"\n"1","Crowd"\n"2","niche"\n"3","Elsewhere"\n',
    "ratings.csv": "userId,movieId,rating\n1,Crowd,5\n1,Niche,4\n1,Elsewhere,1\n",
    "mine.csv": "name;year\nCrowd (2001);1\nNiche;2\nElsewhere;3\n",
}


def bits(item: str, people: int) -> float:
    likes, dislikes = COUNTS[item]
    return math.log2((people - likes - dislikes) / (likes + 1))


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_and_nothing_is_sent(visit: Visit, tmp_path: Path, name: str) -> None:
    page = visit.page
    page.goto(f"{visit.server.url}/history")
    page.locator("#state").filter(has_text="titles to compare with").wait_for()
    page.wait_for_load_state("networkidle")
    visit.sent()
    file = tmp_path / name
    file.write_text(EXPORTS[name], encoding="utf-8")
    page.locator("#file").set_input_files(str(file))
    page.locator("#matched").filter(
        has_text="2 items of your history are in this catalogue, 1 titles are not."
    ).wait_for()
    assert page.locator("#rows th").all_inner_texts() == ["Niche", "Crowd"]
    page.locator("#rows input").first.check()
    assert "Without the 1 you leave out" in page.locator("#total").inner_text()
    page.wait_for_timeout(100)
    assert visit.sent() == []
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_the_saved_file_works_without_a_network(browser: Any, advisor: Server, tmp_path: Path) -> None:
    person = Visit(browser, advisor)
    person.page.goto(f"{advisor.url}/history")
    with person.page.expect_download() as download:
        person.page.get_by_role("link", name="Save this page as one file").click()
    saved = tmp_path / "recveil-history.html"
    download.value.save_as(saved)
    person.close()
    alone = browser.new_context(offline=True)
    page, asked, said = alone.new_page(), [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda one: said.append(str(one)))
    page.goto(saved.as_uri())
    page.locator("#state").filter(has_text="titles to compare with").wait_for()
    export = tmp_path / "ViewingActivity.csv"
    export.write_text(EXPORTS[export.name], encoding="utf-8")
    page.locator("#file").set_input_files(str(export))
    page.locator("#rows th").first.wait_for()
    people = json.loads(page.locator("#embedded").text_content())["people"]
    told = page.locator("#rows tr").first.inner_text()
    assert "Niche" in told and f"{bits('Niche', people):.1f} bits" in told
    assert page.evaluate("fetch('https://example.org').then(() => 'sent', () => 'refused')") == "refused"
    assert [url for url in asked if not url.startswith("file:")] == [url for url in asked if "example.org" in url]
    assert [line for line in said if "example.org" not in line] == []
    alone.close()


def test_a_file_that_is_none_is_said_to_be(visit: Visit, tmp_path: Path) -> None:
    visit.page.goto(f"{visit.server.url}/history")
    visit.page.locator("#state").filter(has_text="titles to compare with").wait_for()
    wrong = tmp_path / "broken.json"
    wrong.write_text('{"half": [')
    visit.page.locator("#file").set_input_files(str(wrong))
    visit.page.locator("#matched").filter(has_text="could not be read").wait_for()
