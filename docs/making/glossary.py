"""The glossary: each word, public name and option in one line, from where it is defined; no second spelling."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getdoc
from typing import Any

from making.markdown import cell, table

WORDS = {
    "bundle": "a folder that may leave the house: released rows, manifest, card, and tables where there are some",
    "catalogue": "the items that may occur, known to everybody without looking at the log",
    "control": "the same number for people who are not in the data",
    "chance": "the same number for an attacker who saw nothing",
    "declared": "said by the owner before the data are looked at: columns, types, the scale of ratings, public lists",
    "holdout": "people who are kept out of a release so that it can be judged on them",
    "ledger": "a file that adds up what was promised to the same people, and refuses what exceeds their budget",
    "manifest": "what a bundle says of itself, with the hash of every file",
    "mechanism": "what turns data into a release: a Masking rewrites rows, a Synthesis draws new people",
    "neighbours": "two data sets that differ in one unit, all that a promise speaks of",
    "proved": "a theorem stands behind the promise, and nothing outside its budget looks at the data",
    "referee": "a recommender that is trained on a release and judged on real people",
    "shadow": "a release of half of the people by the same mechanism, from which an attacker learns",
    "unit": "whom a promise protects: a person with everything she did, a session, or one record",
}


def options() -> dict[str, tuple[str, list[str]]]:
    """Each option with its help and the commands that take it; where they differ, the first one's help."""
    from recveil.cli import app

    found: dict[str, tuple[str, list[str]]] = {}

    def look(name: str, command: Any) -> None:
        for parameter in command.params:
            if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
                option = next(one for one in parameter.opts if one.startswith("--"))
                found.setdefault(option, (parameter.help or "", []))[1].append(name)
        for sub, below in sorted(getattr(command, "commands", {}).items()):
            look(f"{name} {sub}".strip(), below)

    look("", app)
    return found


def names() -> dict[str, str]:
    """Each public name with the first sentence of its docstring."""
    import recveil

    return {name: (getdoc(getattr(recveil, name)) or "").split("\n\n")[0] for name in recveil.__all__}


def pages() -> Iterator[tuple[str, str]]:
    from recveil.report.glossary import GLOSSARY

    words = sorted({**WORDS, **GLOSSARY}.items(), key=lambda word: word[0].lower())
    lines = ["# Glossary", "", "## Words", "", table(["word", "meaning"], [[w, cell(text)] for w, text in words]), ""]
    told = [[f"`{name}`", cell(" ".join(text.split()))] for name, text in sorted(names().items())]
    lines += ["## Python names", "", table(["name", "meaning"], told), "", "## Options", ""]
    taken = [
        [f"`{option}`", cell(text), ", ".join(f"`{name or 'recveil'}`" for name in by)]
        for option, (text, by) in sorted(options().items())
    ]
    lines += [table(["option", "meaning", "commands"], taken), ""]
    yield "reference/glossary.md", "\n".join(lines) + "\n"
