"""The report in a real browser: drawn, readable, silent, and asking nobody for anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from browser import CONTRAST
from invented import invented

from recveil.report.html import html

TOO_SMALL = """() => [...document.querySelectorAll('h1,h2,p,td,th,small,span,li,svg text')]
  .filter(e => e.checkVisibility())
  .map(e => {
    const box = e.closest('svg'), scale = box ? box.getBoundingClientRect().width / box.viewBox.baseVal.width : 1;
    return [parseFloat(getComputedStyle(e).fontSize) * scale, e.textContent.slice(0, 30)];
  })
  .filter(([size]) => size < 10.5)"""


# Texts of pictures that end outside the page or the picture's own column; table cells that hide a part of their text.
CLIPPED = """() => [...document.querySelectorAll('figure svg text')].filter(e => e.checkVisibility()).filter(e => {
    const text = e.getBoundingClientRect(), page = document.documentElement.clientWidth;
    return text.width && (text.left < -1 || text.right > page + 1);
  }).map(e => e.textContent)"""
CUT = """() => [...document.querySelectorAll('table')].filter(e => e.checkVisibility()).flatMap(table => {
    const right = document.querySelector('main').getBoundingClientRect().right;
    return [...table.querySelectorAll('th, td')].filter(cell => cell.getBoundingClientRect().right > right + 1
      || cell.scrollWidth > cell.clientWidth + 1).map(cell => cell.textContent);
  })"""
PARTED = """() => {
    const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), found = [];
    for (let text = walk.nextNode(); text; text = walk.nextNode())
      for (const name of text.data.matchAll(/dp-streams|random-ratings|shuffle-nnn|1e-0\\d/g)) {
        const range = document.createRange();
        range.setStart(text, name.index);
        range.setEnd(text, name.index + name[0].length);
        if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) found.push(name[0]);
      }
    return found;
  }"""
A4 = 688  # pixels between the margins of a page on paper


class Seen(NamedTuple):
    page: Any
    width: int
    errors: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html(invented()), encoding="utf-8")
    return path


@pytest.fixture(
    params=[("light", 1280), ("light", 390), ("dark", 1280), ("dark", 390), ("light", 320)],
    ids=lambda p: f"{p[0]}-{p[1]}",
)
def seen(request: pytest.FixtureRequest, browser: Any, file: Path) -> Iterator[Seen]:
    scheme, width = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    errors: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda asked: requests.append(asked.url))
    page.goto(file.as_uri())
    yield Seen(page, width, errors, requests)
    context.close()


def test_nothing_is_requested_and_nothing_complains(seen: Seen) -> None:
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert seen.errors == []
    assert [url for url in seen.requests if not url.startswith("file://")] == []
    assert len(seen.requests) == 1


def test_figures_are_drawn_and_fit(seen: Seen) -> None:
    pictures = seen.page.locator("figure svg:visible")
    assert pictures.count() == 2 + 6  # frontier, curve, and a slope graph for each mechanism
    for k in range(pictures.count()):
        box = pictures.nth(k).bounding_box()
        assert box["width"] > 200 and box["height"] > 100 and box["x"] + box["width"] <= seen.width
        assert pictures.nth(k).get_attribute("aria-label")
        assert pictures.nth(k).locator("path, line").count() > 5
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= seen.width


def test_text_is_large_enough_and_has_contrast(seen: Seen) -> None:
    assert seen.page.evaluate(CONTRAST) == []
    assert seen.page.evaluate(TOO_SMALL) == []


def test_marks_are_told_apart_without_colour(seen: Seen) -> None:
    first = seen.page.locator("#frontier svg:visible")
    named = [t for t in first.locator("text").all_text_contents() if t[:2].strip() in set("ABCDEF")]
    assert {t[:1] for t in named} == set("ABCDEF")
    if seen.width < 640:  # letters only: a key says what they mean
        assert seen.page.locator("#frontier .legend:visible li").count() == 6


def test_the_verdict_is_what_one_sees_first(seen: Seen) -> None:
    box = seen.page.locator("h1").bounding_box()
    assert box["y"] < 250
    assert "Best with a promise: dp-streams" in seen.page.locator("h1").inner_text()


@pytest.mark.parametrize("width", range(300, 460, 20))
def test_no_name_is_parted_at_its_hyphen(browser: Any, file: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(file.as_uri())
    assert page.evaluate(PARTED) == []
    inline = "[...document.querySelectorAll('.whole')].every(e => getComputedStyle(e).display === 'inline')"
    assert page.evaluate(inline)  # pieces of a name stand beside each other, not below
    page.close()


def test_no_label_is_clipped(seen: Seen) -> None:
    assert seen.page.evaluate(CLIPPED) == []


def test_eight_mechanisms_fit_on_paper(browser: Any, tmp_path: Path) -> None:
    wide = tmp_path / "report.html"
    wide.write_text(html(invented(8)), encoding="utf-8")
    page = browser.new_page(viewport={"width": A4, "height": 970})
    page.goto(wide.as_uri())
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(CUT) == [] and page.evaluate(CLIPPED) == []
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".hint:visible").count() > 0  # a wide table says that it can be scrolled
    page.close()


def test_the_first_screen_has_the_sentence_three_numbers_and_the_picture(browser: Any, file: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(file.as_uri())
    for what, many in (("h1", 1), (".three dt", 3), ("#frontier svg:visible", 1)):
        found = page.locator(what)
        assert found.count() == many
        boxes = [found.nth(n).bounding_box() for n in range(many)]
        assert all(box["y"] + box["height"] <= 800 for box in boxes), what
    page.close()


def test_eight_mechanisms_take_at_most_eight_pages(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(html(invented(8)), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    assert 1 < pages <= 8
    page.close()


def test_it_prints(browser: Any, file: Path) -> None:
    page = browser.new_page()
    page.goto(file.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.querySelector('nav').checkVisibility()") is False
    assert len(page.pdf(format="A4")) > 20_000
    page.close()
