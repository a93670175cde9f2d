"""The decision sheet in a real browser and on paper: for everybody, one page to sign and an annex, nothing cut."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRAST
from test_decision import MANIFEST, NOTHING, measured, number

from recveil.governance.context import Context, Declared
from recveil.governance.recipients import read_recipient
from recveil.governance.sheet import sheet
from recveil.report.decision import page
from recveil.web.messages import teller

AXE = Path(sys.prefix) / "axe" / "axe.min.js"


def full(language: str = "en") -> dict[str, Any]:
    """A sheet with every kind of attack, a long purpose and a decision."""
    found = measured()
    found["measurements"] += [
        number("membership-tpr", 0.02, 0.01, 0.04, fpr=0.01),
        number("copies-linkage", 0.5, 0.4, 0.6),
        number("copies-auc", 0.7, 0.6, 0.8),
        number("reconstruction", 0.4, 0.3, 0.5, values="ratings"),
        number("sybil", 0.3, 0.2, 0.4),
        number("agreement", 0.7, 0.5, 0.9, by="ndcg@10"),
    ]
    context = Context(
        read_recipient("public"),
        purpose="A challenge. " * 12,
        conditions=("No joining with other data",),
        wish={"lift": 0.7, "agreement": 0.8},
        declared=Declared(controller="Example Shop", legal_basis="Art. 6"),
    )
    decision = {"kind": "approved", "by": "Jane Roe", "role": "DPO", "until": "2999-01-01", "conditions": ["None"]}
    return sheet(MANIFEST, found, context, teller("sheet", language)) | {"decision": decision}


def unsure() -> dict[str, Any]:
    """All eleven attacks, none of which can tell, and three wishes: the most that the page to sign must hold."""
    found = measured()
    found["measurements"] = [one | {"low": 0.0, "high": 0.99} for one in found["measurements"]]
    found["measurements"] += [
        number(name, 0.07, 0.01, 0.99, **params)
        for name, params in (
            ("membership-tpr", {"fpr": 0.01}), ("shadow-auc", {}), ("shadow-tpr", {"fpr": 0.01}),
            ("copies-linkage", {}), ("copies-auc", {}), ("reconstruction", {"values": "ratings"}),
            ("across-linkage", {"known": 4}), ("attributes-attributable", {"attribute": "age"}),
        )
    ]  # fmt: skip
    wish = {"lift": 0.7, "agreement": 0.8, "skill": 0.5}
    return sheet(MANIFEST, found, Context(read_recipient("public"), wish=wish), teller("sheet", "de"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sheet")
    bare = sheet(MANIFEST | {"guarantee": NOTHING}, None, Context(read_recipient("team"))) | {"decision": None}
    words = dict.fromkeys(("purpose", "about", "controller"), "Was dazu zu sagen ist. " * 80)
    lang = full("de")
    lang |= {"context": lang["context"] | words, "decision": lang["decision"] | {"opinion": words["about"]}}
    made = {"full": full(), "bare": bare, "deutsch": full("de"), "lang": lang}
    made |= {"offen": full("de") | {"decision": None}, "unsicher": unsure() | {"decision": None}}
    for name, document in made.items():
        language = "en" if name in ("full", "bare") else "de"
        (folder / f"{name}.html").write_text(page(document, language), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.parametrize("name", ["full", "bare", "deutsch"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_everybody_can_read_it(browser: Any, files: dict[str, Path], name: str, scheme: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    seen = context.new_page()
    requests: list[str] = []
    seen.on("request", lambda asked: requests.append(asked.url))
    seen.goto(files[name].as_uri())
    assert requests == [files[name].as_uri()]
    assert seen.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.evaluate(CONTRAST) == []
    if not AXE.exists():
        context.close()
        pytest.skip("axe-core is not here: tests/install_axe.sh fetches it")
    seen.evaluate(AXE.read_text(encoding="utf-8"))
    found = seen.evaluate("axe.run().then(found => found.violations.map(v => [v.id, v.nodes[0].html]))")
    context.close()
    assert found == []


@pytest.mark.parametrize("name", ["full", "bare", "deutsch", "lang", "offen", "unsicher"])
def test_one_page_to_sign_and_an_annex(browser: Any, files: dict[str, Path], name: str) -> None:
    context = browser.new_context()
    seen = context.new_page()
    seen.goto(files[name].as_uri())
    printed = seen.pdf(prefer_css_page_size=True)
    seen.add_style_tag(content=".annex { display: none; }")
    alone = seen.pdf(prefer_css_page_size=True)
    seen.add_style_tag(content=".annex { display: block !important; }")
    seen.emulate_media(media="print")
    seen.set_viewport_size({"width": 690, "height": 1000})  # A4 between its margins
    wide = seen.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 691).length"
    )
    context.close()
    pages = [len(re.findall(rb"/Type\s*/Page\b", made)) for made in (alone, printed)]
    assert pages[0] == 1, "what is signed does not fit on one page"
    assert pages[1] in (2, 3, 4, 5)
    assert wide == 0
