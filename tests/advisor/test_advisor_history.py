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
    "watch-history.de.json": json.dumps(
        [None, *({"titel": "x", "title": f"{n} angesehen"} for n in ("Crowd", "Niche", "z"))]
    ),
    "watch-history.es.json": json.dumps([{"title": f"Has visto {name}"} for name in ("Crowd", "Niche", "Elsewhere")]),
    "watch-history.html": "<html><body>"
    + "".join(
        f'<div class="content-cell">Watched&nbsp;<a href="https://www.youtube.com/watch?v=1">{n}</a><br>'
        '<a href="https://www.youtube.com/channel/2">Crowd again</a><img src="https://example.org/1.png"></div>'
        for n in ("Crowd", "Niche", "Elsewhere")
    ),
    "imdb.csv": "Const,Your Rating,Date Rated,Title,Original Title,IMDb Rating\ntt1,8,2024,Crowd,Crowd,2.1\n"
    "tt2,9,2024,Otro,Niche,3\ntt3,2,2024,Elsewhere,Elsewhere,9\n",
    "letterboxd.csv": "Date,Name,Year,Letterboxd URI,Rating\n2024,Crowd,2001,x,4.5\n2024,Niche,2002,x,4\n"
    "2024,Elsewhere,2003,x,1\n",
    "goodreads.csv": 'Book Id,Title,Author,My Rating\n1,"Crowd (Crowds, #1)",A,5\n2,Niche,A,4\n3,Elsewhere,A,0\n',
    "netflix.de.csv": 'Titel,Datum\n"Niche: Staffel 1: Eins",1.2.24\nCrowd,1.3.24\nAnderswo,1.4.24\n',
    "netflix.es.csv": 'Título,Fecha\n"Niche: Temporada 1: Uno",1/2/24\nCrowd,1/3/24\nOtra,1/4/24\n',
    "Ratings.csv": "Profile Name,Title Name,Thumbs Value\nme,Crowd,2\nme,Niche,3\nme,Elsewhere,1\n",
    "amazon.de.csv": '"Bestellnummer";"Produktname"\n"1";"Crowd"\n"2";"niche"\n"3";"Anderswo"\n',
    "fours.csv": "title,rating\nCrowd,4\nNiche,5\nElsewhere,4\n",
    "mine.csv": "name;year\nCrowd (2001);1\nNiche;2\nElsewhere;3\n",
}


def bits(item: str, people: int) -> float:
    likes, dislikes = COUNTS[item]
    return math.log2((people - likes - dislikes) / (likes + 1))


def test_zones_are_told_on_a_phone_too(browser: Any, advisor: Server, tmp_path: Path) -> None:
    for width in (390, 1280):
        her = Visit(browser, advisor)
        her.page.set_viewport_size({"width": width, "height": 800})
        her.page.goto(f"{advisor.url}/history")
        (tmp_path / "mine.csv").write_text(EXPORTS["mine.csv"], encoding="utf-8")
        her.page.locator("#state").filter(has_text="titles to compare with").wait_for()
        her.page.locator("#file").set_input_files(str(tmp_path / "mine.csv"))
        her.page.locator("#weigh").click()
        told = her.page.locator("#rows tr").first.inner_text()
        assert told.count("Trade-off") == 1
        her.close()


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
    assert sorted(page.locator("#rows th").all_inner_texts()) == ["Crowd", "Niche"]
    assert [chosen.input_value() for chosen in page.locator("#rows select").all()] == ["1", "1"]
    assert page.locator("#total").is_hidden()  # nothing is computed before she asks for it
    page.locator("#weigh").click()
    assert page.locator("#rows th").all_inner_texts() == ["Niche", "Crowd"]
    page.locator("#rows input").first.check()
    assert "Without the 1 you leave out" in page.locator("#total").inner_text()
    page.wait_for_timeout(100)
    assert visit.sent() == []
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


def test_signs_follow_each_files_own_scale_and_can_be_changed(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    page.goto(f"{visit.server.url}/history")
    page.locator("#state").filter(has_text="titles to compare with").wait_for()
    files = {
        "five.csv": "title,rating\nCrowd,4\nNiche,3\nEven,\nFilm 01,2\n",
        "ten.csv": "title,your rating\nFilm 02,6\nFilm 03,5\nFilm 04,7\nFilm 05,4\nFilm 06,9\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    page.locator("#file").set_input_files([str(tmp_path / name) for name in files])
    page.locator("#matched").filter(has_text="9 items").wait_for()
    signs = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll("#rows tr")].map(
        (row) => [row.querySelector("th").textContent, row.querySelector("select").value]))""")
    assert signs == {
        **{"Crowd": "1", "Niche": "0", "Even": "0", "Film 01": "-1", "Film 02": "0", "Film 03": "0"},
        **{"Film 04": "1", "Film 05": "-1", "Film 06": "1"},
    }
    assert "ratings up to 10" in page.locator("#scales").inner_text()
    page.get_by_label("What you think of Niche").select_option("like")
    page.locator("#weigh").click()
    assert "in 6 items" in page.locator("#total").inner_text()
    assert "telling" in page.locator("#known").inner_text()
    page.get_by_label("What you think of Film 01").select_option("neither")
    assert "in 5 items" in page.locator("#total").inner_text()


def test_the_history_has_the_doubt_of_the_live_page(browser: Any, tmp_path: Path) -> None:
    private = Server(tmp_path, ("--counters", "private")).start()
    person = Visit(browser, private)
    page = person.page
    page.goto(f"{private.url}/history")
    page.locator("#state").filter(has_text="titles to compare with").wait_for()
    (tmp_path / "mine.csv").write_text("title\nCrowd\nEven\nFilm 01\n")
    page.locator("#file").set_input_files(str(tmp_path / "mine.csv"))
    page.locator("#weigh").click()
    told, wanted = page.evaluate("""async () => {
      const { publicTable } = await import("/static/profiles.js");
      const { inDoubt } = await import("/static/advice.js");
      const table = publicTable(new URL("/api/v1", location.href).href);
      await table.ready;
      const counts = (item) => table.profiles.get(item);
      const doubt = (item) => counts(item) && inDoubt(...counts(item), table.people, table.blur);
      const rows = [...document.querySelectorAll("#rows tr")];
      return [rows.map((row) => row.textContent.includes("near the border")),
              rows.map((row) => Boolean(doubt(row.querySelector("th").textContent)))];
    }""")
    assert told == wanted
    assert "are wrong" in page.locator("#known").inner_text()
    person.close()
    private.stop()


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
    page.locator("#weigh").click()
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
