"""The advisor's pages in English and German: no word of the other, nothing sticks out, axe-core finds nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from advisor_server import Server
from visits import Visit

from recveil.web import messages

pytest.importorskip("fastapi", reason="the extra serve is not installed: no browser tests of it")
AXE = Path(sys.prefix) / "axe" / "axe.min.js"
# Everything that is read or heard on a page, shadow trees included.
WORDS = """() => {
  const under = e => e.shadowRoot ? within(e.shadowRoot) : [];
  const within = root => [...root.querySelectorAll('*')].flatMap(e => [e, ...under(e)]);
  const texts = e => [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data);
  return within(document.documentElement).filter(e => !e.matches('script, style, pre, pre *'))
    .flatMap(e => [...texts(e), e.getAttribute('aria-label') ?? '']).join('\\n');
}"""


def foreign(page: Any, other: str, own: str) -> list[str]:
    """Texts of the other language that stand on a page."""
    mine = set(messages.catalogue("advisor", own).values())
    shown = {line.strip() for line in page.evaluate(WORDS).split("\n")}
    return [
        text for text in messages.catalogue("advisor", other).values() if text.strip() in shown and text not in mine
    ]


def sound(page: Any, language: str) -> None:
    assert page.locator("html").get_attribute("lang") == language
    assert foreign(page, "en" if language == "de" else "de", language) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for dialog in page.locator("dialog[open]").all():
        assert dialog.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    if AXE.exists():
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run().then(found => found.violations.map(v => [v.id, v.nodes[0].html]))")
        assert found == []


@pytest.mark.parametrize(("locale", "width"), [("de-AT", 320), ("de", 1280), ("en-GB", 320)])
def test_pages_speak_the_browser_s_language(browser: Any, advisor: Server, locale: str, width: int) -> None:
    language = locale[:2]
    say = messages.speaker("advisor", language)
    person = Visit(browser, advisor, locale=locale, bypass_csp=True, reduced_motion="reduce")
    page = person.page
    page.set_viewport_size({"width": width, "height": 800})
    person.open()
    sound(page, language)
    first = page.locator("#recommended click-advisor").first
    first.locator("button.dislike").click()
    assert first.get_by_role("dialog").get_by_role("button").all_inner_texts() == [
        str(say(name)) for name in ("dislike.confirm", "like.change", "cancel")
    ]
    sound(page, language)
    first.get_by_role("dialog").get_by_role("button").first.click()
    person.says(str(say("dislike.saved", title="Crowd")))
    sound(page, language)
    page.locator("#erase").click()
    sound(page, language)
    page.locator("#erasing button").last.click()
    person.says(str(say("erased")))
    page.goto(f"{advisor.url}/history")
    page.locator("#file:not([disabled])").wait_for()
    mine = {"name": "mine.csv", "mimeType": "text/csv", "buffer": b"name\nCrowd\nNiche\nElsewhere\n"}
    page.locator("#file").set_input_files(mine)
    page.locator("#rows th").first.wait_for()
    sound(page, language)
    person.open("/embed")
    sound(page, language)
    person.close()


def test_the_element_speaks_the_language_of_the_page_it_stands_on(browser: Any, advisor: Server) -> None:
    person = Visit(browser, advisor, locale="en-US")
    page = person.page
    page.route("**/embed", lambda route: route.fulfill(response=(got := route.fetch()), body=in_german(got.text())))
    person.open("/embed")
    assert page.locator("click-advisor button").first.inner_text().startswith("Mag ich")
    person.close()


def in_german(html: str) -> str:
    assert '<html lang="en">' in html
    return html.replace('<html lang="en">', '<html lang="de">')


def test_the_saved_page_keeps_its_language(browser: Any, advisor: Server, tmp_path: Path) -> None:
    person = Visit(browser, advisor, locale="de-DE")
    person.page.goto(f"{advisor.url}/history")
    with person.page.expect_download() as download:
        person.page.locator("a[download]").click()
    saved = tmp_path / "recveil-history.html"
    download.value.save_as(saved)
    person.close()
    alone = browser.new_context(offline=True, locale="en-US")
    page = alone.new_page()
    page.goto(saved.as_uri())
    page.locator("#state").filter(has_text="Titel zum Vergleichen").wait_for()
    alone.close()
