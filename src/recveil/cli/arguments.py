"""Arguments that several commands share, and how DATA and answers are read and shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from recveil.data import Interactions

SILENCE = 20.0  # seconds between two lines of progress where there is no terminal

Data = Annotated[str, typer.Argument(metavar="DATA", help="A file, or sample:films, sample:sessions, sample:tags.")]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="ROLE=NAME,...", help="Such as user=uid,item=movie,rating=stars.")
]
Duplicates = Annotated[
    str, typer.Option("--duplicates", metavar="RULE", help="Repeated pairs: last, first, all, or error.")
]
FoldTags = Annotated[bool, typer.Option("--fold-tags", help="Tags that differ in case or outer spaces are the same.")]
Engine = Annotated[str, typer.Option("--engine", help="Where the work is done: local, or spark.")]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Of Spark: spark://host:7077, yarn, local[4]; else local[*]."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Makes the run repeatable: an experiment, not for publication.")
]


def read_data(data: str, columns: str | None = None, fold_tags: bool = False) -> Interactions:
    """DATA as given on the command line, with all its rows."""
    if data.startswith("sample:"):
        from recveil.samples import sample

        rows = sample(data.removeprefix("sample:"))
    else:
        from recveil.formats import parse_columns, read

        rows = read(data, columns=parse_columns(columns) if columns else None, duplicates="all")
    if fold_tags:
        from recveil.views.triples import folded

        rows = folded(rows)
    return rows


def read_released(data: str, columns: str | None, duplicates: str, fold_tags: bool = False) -> Interactions:
    """DATA with repeated pairs settled; says on standard error how many there were."""
    from recveil.formats import deduplicate

    rows = read_data(data, columns, fold_tags)
    kept = deduplicate(rows, duplicates)  # type: ignore[arg-type]
    if len(kept) < len(rows):
        say(f"{len(rows) - len(kept):,} repeated rows left out (kept: the {duplicates} of each)")
    return kept


def say(line: str) -> None:
    """A line for the person at the terminal; standard output stays free for answers."""
    print(line, file=sys.stderr)


def answer(document: dict[str, Any], lines: list[str], as_json: bool) -> None:
    """The result: one JSON document for machines, or lines for people."""
    print(json.dumps(document, ensure_ascii=False, allow_nan=False) if as_json else "\n".join(lines))


@contextmanager
def progress(what: str, total: int, lines: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal; elsewhere silence, or with `lines` a line now and then.

    Yields the function to be told of steps done.
    """
    if not sys.stderr.isatty():
        yield _lines_now_and_then(what, total) if lines else lambda steps: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.update(task, advance=steps)


def _lines_now_and_then(what: str, total: int) -> Callable[[int], None]:
    start = said = monotonic()
    done = 0

    def tick(steps: int) -> None:
        nonlocal done, said
        done += steps
        now = monotonic()
        if now - said >= SILENCE and 0 < done < total:
            said = now
            minutes = (now - start) * (total - done) / done / 60
            left = f"about {minutes:.0f} minutes" if minutes >= 1.5 else "about a minute"
            say(f"{what}: {done / total:.0%} done, {left} left")

    return tick
