"""Arguments that several commands share, and how DATA and answers are read and shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from recveil.options import Option
from recveil.releases.asked import (
    COLUMNS,
    DATA,
    DUPLICATES,
    ENGINE,
    ITEMS,
    ITEMS_ARE_PUBLIC,
    MASTER,
    MEMORY,
    SCHEMA,
    SCRATCH,
    SEED,
    TYPES,
)

if TYPE_CHECKING:
    from recveil.data import Interactions
    from recveil.releases.progress import Progress

Data = Annotated[list[str], DATA]
Columns = Annotated[str | None, COLUMNS]
Types = Annotated[str | None, TYPES]
SchemaFile = Annotated[str | None, SCHEMA]
Duplicates = Annotated[str, DUPLICATES]
EngineName = Annotated[str, ENGINE]
Master = Annotated[str | None, MASTER]
Memory = Annotated[str | None, MEMORY]
ScratchFolder = Annotated[str | None, SCRATCH]
ItemsFile = Annotated[str | None, ITEMS]
ItemsArePublic = Annotated[bool, ITEMS_ARE_PUBLIC]
Trust = Annotated[str | None, Option(metavar="FILE", help="The keys that you know, their roles and names: trust.toml.")]
Owner = Annotated[str | None, Option("--owner", metavar="DIR", help="The owner's folder; else that beside the bundle.")]
Json = Annotated[bool, Option("--json", help="One JSON document on standard output.")]
Seed = Annotated[int | None, SEED]


def read_released(data: str, columns: str | None, duplicates: str, fold_tags: bool = False) -> Interactions:
    """DATA with repeated pairs settled; says on standard error how many there were."""
    from recveil.releases.inputs import Input

    with terminal() as progress:
        return Input(data, columns, duplicates, fold_tags).rows(progress)


def say(line: str) -> None:
    """A line for the person at the terminal; standard output stays free for answers."""
    print(line, file=sys.stderr)


def answer(document: dict[str, Any], lines: list[str], as_json: bool) -> None:
    """The result: one JSON document for machines, or lines for people."""
    print(json.dumps(document, ensure_ascii=False, allow_nan=False) if as_json else "\n".join(lines))


@contextmanager
def terminal(lines: bool = False) -> Iterator[Progress]:
    """The Progress of a person at a terminal: notes as lines, steps as a bar; elsewhere, with `lines`, a line now and
    then.
    """
    from recveil.cli.terminal import Terminal

    shown = Terminal(lines)
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def progress(what: str, total: int, lines: bool = False) -> Iterator[Callable[[int], None]]:
    """The same for one piece of work: yields the function to be told of steps done."""
    with terminal(lines) as shown:
        yield shown.counter(what, total)
