"""The reference of JSON answers: every command with --json on a sample, and the shape of what comes out."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from making.markdown import table

ASKED = (
    "inspect ratings.csv",
    "assess ratings.csv --known 2,4 --seed 1",
    "release ratings.csv --with pseudonymise -o out --keep-map map.csv",
    "verify out",
    "measure ratings.csv out --map map.csv --only linkage --known 2 --seed 1",
    "compare ratings.csv --with pseudonymise --only linkage --shadows 0 --seed 1",
    "mechanisms mask",
    "audit pseudonymise --runs 30 --seed 1",
)


def pages() -> Iterator[tuple[str, str]]:
    lines = [
        "# JSON answers",
        "",
        "Every command takes `--json` and then prints one JSON document on standard output. These shapes are read off "
        "real answers, to the commands that stand above each, on a sample. Of a list the first element is shown.",
        "",
    ]
    import recveil

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        recveil.write(recveil.sample("films?users=80,items=60"), "ratings.csv")
        for asked in ASKED:
            answer = json.loads(_answer(asked))
            lines += [f"## {asked.split()[0]}", "", f"```text\nrecveil {asked} --json\n```", ""]
            lines += [table(["field", "type"], [[f"`{name}`", kind] for name, kind in _shape(answer)]), ""]
    yield "reference/json.md", "\n".join(lines) + "\n"


def _answer(asked: str) -> str:
    """What `recveil ASKED --json` prints; in this process, since eight would each load everything anew."""
    from recveil.cli import main

    said, before = io.StringIO(), sys.argv
    sys.argv = ["recveil", *asked.split(), "--json"]
    try:
        with contextlib.redirect_stdout(said):
            main()
    except SystemExit as stopped:
        if stopped.code:
            raise SystemExit(f"recveil {asked} ended with exit code {stopped.code}") from None
    finally:
        sys.argv = before
    return said.getvalue()


def _shape(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value and depth < 3:
        if name:
            yield name, "object"
        for key, below in value.items():
            yield from _shape(below, f"{name}.{key}" if name else key, depth + 1)
    elif isinstance(value, list) and value and isinstance(value[0], dict) and depth < 3:
        yield name, "list of objects"
        for key, below in value[0].items():
            yield from _shape(below, f"{name}[].{key}", depth + 1)
    elif isinstance(value, list):
        yield name, f"list of {_kind(value[0])}s" if value else "list"
    else:
        yield name, _kind(value)


def _kind(value: Any) -> str:
    if value is None:
        return "null here, else a value"
    return {bool: "boolean", int: "number", float: "number", str: "text", dict: "object", list: "list"}[type(value)]
