"""recveil reproduce PAPER --data DIR: every published number of a paper beside ours, with a verdict."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli.arguments import Json, Seed, answer, progress
from recveil.errors import RecveilError, unknown

if TYPE_CHECKING:
    from recveil.reproduce.claim import Claim

Progress = Callable[[int, int], None]  # steps done, of how many


def _mask(folder: Path, told: Progress, figures: Path | None = None) -> list[Claim]:
    from recveil.reproduce.mask import reproduce

    return reproduce(folder, told, figures)


def _mbrw(folder: Path, told: Progress, figures: Path | None = None) -> list[Claim]:
    from recveil.reproduce.mbrw import reproduce

    return reproduce(folder, told, figures)


def _shuffle_nnn(folder: Path, told: Progress, figures: Path | None = None) -> list[Claim]:
    from recveil.reproduce.shuffle_nnn import reproduce

    return reproduce(folder, told, figures)


def _clicks(folder: Path, told: Progress) -> list[Claim]:
    from recveil.reproduce.clicks import reproduce

    return reproduce(folder, told)


# Every paper by its short name; each is imported when asked for.
PAPERS: dict[str, Callable[..., list[Claim]]] = {
    "clicks": _clicks,
    "mask": _mask,
    "mbrw": _mbrw,
    "shuffle-nnn": _shuffle_nnn,
}
DRAWN = ("mask", "mbrw", "shuffle-nnn")  # those whose figures are drawn where a folder for them is given


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"One of {', '.join(PAPERS)}.")],
    data: Annotated[str | None, typer.Option(metavar="DIR", help="The data sets; default: RECVEIL_DATA.")] = None,
    figures: Annotated[
        str | None, typer.Option(metavar="DIR", help=f"Draw the figures there ({', '.join(DRAWN)}).")
    ] = None,
    as_json: Json = False,
    seed: Seed = None,  # noqa: ARG001
) -> None:
    """Every published number of a paper beside ours, with a verdict.

    Example: recveil reproduce mask --data DIR
    """
    if paper not in PAPERS:
        raise unknown("paper", paper, PAPERS)
    if figures and paper not in DRAWN:
        raise RecveilError(f"no figures are drawn for {paper}; leave --figures out")
    folder = data or os.environ.get("RECVEIL_DATA")
    if not folder:
        raise RecveilError("reproduce needs the data sets: give their folder with --data DIR, or in RECVEIL_DATA")
    if not Path(folder).is_dir():
        raise RecveilError(f"{folder}: there is no such directory")
    with progress(f"reproduce {paper}", 1000) as tick:
        before = 0

        def show(done: int, of: int) -> None:
            nonlocal before
            tick(1000 * done // of - before)
            before = 1000 * done // of

        claims = PAPERS[paper](Path(folder), show, *([Path(figures)] if figures else []))
    answer({"paper": paper, "claims": [c.record() for c in claims]}, _lines(claims), as_json)


def _lines(claims: list[Claim]) -> list[str]:
    lines = [f"{'verdict':<26} {'paper':>12} {'ours':>12}  claim"]
    for c in claims:
        lines.append(f"{c.verdict:<26} {_short(c.paper):>12} {_short(c.ours):>12}  {c.where}: {c.claim}")
        if c.low is not None and c.high is not None:
            lines.append(f"{'':<40}from {c.low:.4g} to {c.high:.4g}")
        lines += [f"{'':<54}{line}" for line in wrap(c.why, 100)]
    count = {v: sum(c.verdict == v for c in claims) for v in dict.fromkeys(c.verdict for c in claims)}
    return [*lines, "; ".join(f"{n} {verdict}" for verdict, n in count.items())]


def _short(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
