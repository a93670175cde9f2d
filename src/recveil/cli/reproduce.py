"""recveil reproduce PAPER --data DIR: every published number of a paper beside ours, with a verdict."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

from recveil.cli.arguments import Json, answer, progress, say
from recveil.errors import RecveilError, unknown
from recveil.options import Argument, Option

if TYPE_CHECKING:
    from recveil.papers.claim import Claim

NAMES = "clicks, mask, mbrw, pritop, shuffle-nnn"


def reproduce(
    paper: Annotated[str, Argument(metavar="PAPER", help=f"One of {NAMES}.")],
    data: Annotated[str | None, Option(metavar="DIR", help="The data sets; default: RECVEIL_DATA.")] = None,
    figures: Annotated[str | None, Option(metavar="DIR", help="Draw the figures there (not of clicks).")] = None,
    out: Annotated[
        str | None, Option("-o", "--out", metavar="FILE", help="Write the claims there: .json or .html.")
    ] = None,
    no_cache: Annotated[bool, Option("--no-cache", help="Make every part anew.")] = False,
    as_json: Json = False,
    seed: Annotated[int | None, Option(hidden=True)] = None,  # noqa: ARG001
) -> None:
    """Every published number of a paper beside ours, with a verdict.

    Example: recveil reproduce mask --data DIR -o mask.html
    """
    from recveil.evaluation.cache import Cache, user_cache
    from recveil.formats.files import check_writable
    from recveil.papers.papers import PAPERS, record
    from recveil.papers.papers import reproduce as make

    if paper not in PAPERS:
        raise unknown("paper", paper, PAPERS)
    if figures and not PAPERS[paper].drawn:
        raise RecveilError(f"no figures are drawn for {paper}; leave --figures out")
    if out:
        check_writable(out, (".json", ".html"))
    folder = data or os.environ.get("RECVEIL_DATA")
    if not folder:
        raise RecveilError("reproduce needs the data sets: give their folder with --data DIR, or in RECVEIL_DATA")
    if not Path(folder).is_dir():
        raise RecveilError(f"{folder}: there is no such directory")
    cache = Cache(None) if no_cache else user_cache()
    with progress(f"reproduce {paper}", 1000, lines=True) as tick:
        before = 0

        def show(done: int, of: int) -> None:
            nonlocal before
            tick(1000 * done // of - before)
            before = 1000 * done // of

        claims = make(paper, Path(folder), show, Path(figures) if figures else None, cache)
    document = record(paper, claims)
    if out:
        _write(document, Path(out))
        say(f"the claims are in {out}")
    answer(document, list(_lines(claims, min(get_terminal_size().columns, 100))), as_json)


def _write(document: dict[str, Any], path: Path) -> None:
    from recveil.formats.files import write_text

    if path.suffix == ".json":
        content = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    else:
        from recveil.report.claims import html

        content = html(document)
    write_text(path, content)


def _lines(claims: list[Claim], width: int = 100) -> Iterator[str]:
    """A block for each claim, no wider than the terminal; at the end every verdict with its meaning and its number."""
    from recveil.papers.claim import MEANINGS
    from recveil.papers.papers import counts

    for c in claims:
        span = "" if c.low is None or c.high is None else f" [{c.low:.4g}, {c.high:.4g}]"
        yield f"{c.verdict:<25}  paper {_short(c.paper)}, ours {_short(c.ours)}{span}"
        yield from wrap(f"{c.where}: {c.claim}", width, initial_indent="    ", subsequent_indent="    ")
        yield from wrap(c.why, width, initial_indent="      ", subsequent_indent="      ")
    yield ""
    number = counts(claims)
    for verdict in number:
        yield from wrap(f"{verdict}: {MEANINGS[verdict]}", width, subsequent_indent="    ")
    yield "; ".join(f"{n} {verdict}" for verdict, n in number.items())


def _short(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
