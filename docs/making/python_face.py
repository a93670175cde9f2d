"""The reference of Python: every public name, from its docstring."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import isclass

FIRST = ("read", "inspect", "assess", "release", "attack", "measure", "compare", "audit", "tune", "recommend")
NAMED = re.compile(r"^(?P<name>[a-z_]+): (?P<text>\S.*)$")


def pages() -> Iterator[tuple[str, str]]:
    import recveil
    from recveil.mechanism import Mechanism

    rest = [n for n in recveil.__all__ if n not in FIRST]
    functions = [n for n in rest if not isclass(getattr(recveil, n))]
    classes = [n for n in rest if isclass(getattr(recveil, n))]
    mechanisms = [n for n in classes if issubclass(getattr(recveil, n), Mechanism) and n not in ("Mechanism", "MBRW")]
    shapes = [n for n in mechanisms if n in ("Masking", "Synthesis")] + ["Mechanism"]
    groups = {
        "What one types first": FIRST,
        "Results, and the nouns": [n for n in classes if n not in {*mechanisms, *shapes, "MBRW"}],
        "Mechanisms": [n for n in mechanisms if n not in shapes],
        "For a mechanism of your own": shapes,
        "Further functions": functions,
    }
    lines = [
        "# Python",
        "",
        "`import recveil` is all there is to import. Everything public is here, from its docstring; the examples are "
        "run by the tests.",
        "",
    ]
    for title, names in groups.items():
        lines += [f"## {title}", "", "```{eval-rst}", ".. currentmodule:: recveil", ""]
        for name in names:
            kind = "autoclass" if isclass(getattr(recveil, name)) else "autofunction"
            lines += [f".. {kind}:: {name}", *(["   :members:"] if kind == "autoclass" else []), ""]
        lines += ["```", ""]
    yield "reference/python.md", "\n".join(lines) + "\n"


def as_rst(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:  # noqa: ARG001
    """Docstrings are plain text: `name: what it is` lines become fields; single backquotes become code."""
    made: list[str] = []
    field = example = False
    for line in lines:
        if line.startswith(">>>") and not example and made and made[-1]:
            made.append("")
        example = line.startswith((">>>", "...")) or (example and bool(line.strip()))
        if example:
            made.append(line)
        elif (found := NAMED.match(line)) and what in ("function", "method", "class"):
            if not field and made and made[-1]:
                made.append("")
            made.append(f":param {found['name']}: {_code(found['text'])}")
            field = True
        elif field and line.startswith("    "):
            made.append("    " + _code(line.strip()))
        else:
            if field and line.strip():
                made.append("")
            field = False
            made.append(_code(line))
    lines[:] = [*made, ""]


def _code(text: str) -> str:
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)
    return re.sub(r"(?<![`\w])([*|])|(\w)_(?=\W|$)", lambda m: "\\" + m[1] if m[1] else m[2] + "\\_", text)
