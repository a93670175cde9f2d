"""The words of our pages: languages that fit together, the one that a browser likes, and words that are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from recveil.errors import RecveilError
from recveil.web import messages

APPS = sorted({path.name.split(".")[0] for path in messages.FILES.glob("*.json")})
WEB = messages.FILES.parents[1]


@pytest.mark.parametrize("app", APPS)
def test_languages_have_the_same_names_and_placeholders(app: str) -> None:
    assert messages.differences(app) == []
    assert {path.name for path in messages.FILES.glob(f"{app}.*")} == {
        f"{app}.{tag}.json" for tag in messages.LANGUAGES
    }
    for language in messages.LANGUAGES:
        texts = messages.catalogue(app, language)
        assert all(text == text.strip() or text == text.strip() + " " for text in texts.values())
        forms = {name.rpartition(".")[0] for name in texts if name.endswith(".one")}
        assert {f"{form}.other" for form in forms} <= texts.keys()
        assert not {name for name, text in texts.items() if re.search(r"\{\w*[^\w}]|<", text)}  # no markup, no code


def test_what_does_not_fit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "FILES", tmp_path)
    (tmp_path / "odd.en.json").write_text(json.dumps({"a": "{x} of {y}", "b": "only here"}))
    (tmp_path / "odd.de.json").write_text(json.dumps({"a": "{x} von {z}", "c": "nur hier"}))
    assert messages.differences("odd") == ["de: a fills in others", "de: b is missing", "de: c is not in en"]
    with pytest.raises(RecveilError, match=r"no messages none\.en\.json"):
        messages.catalogue("none", "en")


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en-GB, de;q=0.9", "en"),
        ("fr, de;q=0.4, en;q=0.5", "en"),
        ("DE", "de"),
        ("de;q=0", "en"),
        ("de;q=nonsense", "de"),
        ("*", "en"),
        (";;,,", "en"),
        ("", "en"),
        (None, "en"),
    ],
)
def test_the_browser_s_language(accepted: str | None, language: str) -> None:
    assert messages.chosen(accepted) == language


def test_values_are_escaped_and_numbers_have_two_forms() -> None:
    say = messages.speaker("advisor", "de")
    assert say("undone", title="<b>") == "Zurückgenommen: &lt;b&gt; ist, als hättest du nie darauf geklickt."
    assert [say("people", n=n) for n in (0, 1, 2)] == ["0 Personen", "1 Person", "2 Personen"]
    with pytest.raises(KeyError):
        say("no such thing")


def test_modules_know_the_same_languages() -> None:
    told = re.search(r"LANGUAGES = (\[.*?\])", (messages.FILES / "messages.js").read_text("utf-8"))
    assert told and json.loads(told[1]) == list(messages.LANGUAGES)


@pytest.mark.parametrize("app", APPS)
def test_every_name_that_a_page_asks_for_is_there(app: str) -> None:
    texts = messages.catalogue(app, "en")
    sources = [*(WEB / app).glob("templates/**/*.html"), *(WEB / app).glob("static/**/*.js")]
    asked = {name for path in sources for name in re.findall(r'\bsay\("([\w.]+\w)"', path.read_text("utf-8"))}
    assert {name for name in asked if not {name, f"{name}.one"} & texts.keys()} == set()
