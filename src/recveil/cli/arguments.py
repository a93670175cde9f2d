"""Arguments that several commands share, and how DATA and answers are read and shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from recveil.errors import RecveilError
from recveil.options import Argument, Option

if TYPE_CHECKING:
    from recveil.data import Interactions
    from recveil.releases.progress import Progress

Data = Annotated[
    list[str],
    Argument(metavar="DATA", help="A file, several, a folder of parts, a pattern; or sample:films."),
]
Columns = Annotated[
    str | None, Option("--columns", metavar="ROLE=NAME,...", help="Such as user=uid,item=movie,rating=stars.")
]
Types = Annotated[
    str | None,
    Option("--types", metavar="ROLE=TYPE,...", help="Of ids: int or text, such as item=int,user=text."),
]
SchemaFile = Annotated[
    str | None,
    Option("--schema", metavar="FILE", help="What the columns are, as recveil inspect DATA --schema FILE wrote."),
]
Duplicates = Annotated[str, Option("--duplicates", metavar="RULE", help="Repeated pairs: last, first, all, or error.")]
FoldTags = Annotated[bool, Option("--fold-tags", help="Tags that differ in case or outer spaces are the same.")]
EngineName = Annotated[str, Option("--engine", help="Where the work is done: local, or spark.")]
Master = Annotated[
    str | None,
    Option(
        "--master", metavar="URL", help="Of Spark: spark://host:7077, sc://host:15002, yarn, local[4]; else local[*]."
    ),
]
Memory = Annotated[
    str | None,
    Option("--memory", metavar="SIZE", help="Such as 4GB: a log that needs more is worked on in parts on disk."),
]
ScratchFolder = Annotated[
    str | None,
    Option("--scratch", metavar="DIR", help="Where those parts lie meanwhile; else beside the bundle."),
]
OutsideBudget = Annotated[
    bool, Option("--outside-budget", help="Let in what promises nothing that the ledger's budget counts.")
]
LookedLedger = Annotated[
    str | None,
    Option("--ledger", metavar="FILE", help="Enter there that DATA were looked at, before anything is."),
]
ItemsFile = Annotated[
    list[str] | None,
    Option(
        "--items", "--catalogue", "--features", metavar="FILE",
        help="Your public file of items: item, title, category, any columns; csv, parquet, jsonl.",
    ),
]  # fmt: skip
ItemsArePublic = Annotated[
    bool,
    Option("--catalogue-is-public", help="My word that all of --items stands there whether or not anybody touched it."),
]
Trust = Annotated[str | None, Option(metavar="FILE", help="The keys that you know, their roles and names: trust.toml.")]
Owner = Annotated[str | None, Option("--owner", metavar="DIR", help="The owner's folder; else that beside the bundle.")]
DeclaredSize = Annotated[
    str | None,
    Option("--size", metavar="NUMBERS", help="For a forecast: people=5000,items=800,rows=90000, about."),
]
CountedSize = Annotated[
    float | None,
    Option("--count", metavar="EPSILON", help="Or count them with this noise, which --ledger keeps."),
]
Json = Annotated[bool, Option("--json", help="One JSON document on standard output.")]
NoSeed = Annotated[int | None, Option("--seed", hidden=True)]  # accepted since the first version; it does nothing
Seed = Annotated[int | None, Option("--seed", help="Makes the run repeatable: an experiment, not for publication.")]


def read_data(data: Any, schema: Any, progress: Progress) -> Interactions:
    """DATA as given on the command line, with all its rows."""
    from recveil.releases.inputs import Input

    return Input(data, schema=schema).all_rows(progress)


def read_released(data: str, columns: str | None, duplicates: str, fold_tags: bool = False) -> Interactions:
    """DATA with repeated pairs settled; says on standard error how many there were."""
    from recveil.releases.inputs import Input

    with terminal() as progress:
        return Input(data, columns, duplicates, fold_tags).rows(progress)


def one_file(given: list[str] | None) -> str | None:
    """The one file of items; --catalogue and --features are other names of --items."""
    files = list(dict.fromkeys(given or ()))
    if len(files) > 1:
        raise RecveilError("--items, --catalogue and --features name one public file: put all columns into it")
    return files[0] if files else None


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


def names(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas."""
    return tuple(name for part in text.split(",") if (name := part.strip())) if text else None


def numbers(text: str | None) -> tuple[int, ...] | None:
    """Whole numbers separated by commas, as --known takes them."""
    try:
        return tuple(int(part) for part in text.split(",")) if text else None
    except ValueError:
        raise RecveilError(f"--known takes whole numbers such as 2,4,8, not {text!r}") from None
