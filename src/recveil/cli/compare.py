"""recveil compare DATA --with SPEC --with SPEC ... -o report.html: the same people, protected in several ways."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recveil.cli.arguments import Columns, Data, Duplicates, FoldTags, Json, Seed, answer, progress, read_released, say
from recveil.errors import RecveilError

if TYPE_CHECKING:
    from recveil.report.table import Report, Words

SAMPLES = {"films": ("film", "viewer"), "sessions": ("product", "session"), "tags": ("artist", "listener")}


def compare(
    data: Data,
    with_: Annotated[list[str], typer.Option("--with", metavar="SPEC", help="A mechanism; give it once for each.")],
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE", help="Where the report goes, .html.")
    ] = None,
    figures: Annotated[str | None, typer.Option(metavar="DIR", help="Every figure as SVG and PNG, too.")] = None,
    only: Annotated[str | None, typer.Option(metavar="NAMES", help="Measures, such as linkage,lift.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The quick referees: for a first look.")] = False,
    holdout: Annotated[float, typer.Option(help="The share of people held out as strangers and judges.")] = 0.2,
    splits: Annotated[int, typer.Option(help="For the order of algorithms; 5 or more to trust it.")] = 1,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Measure everything anew.")] = False,
    columns: Columns = None,
    duplicates: Duplicates = "last",
    fold_tags: FoldTags = False,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Attack and use several releases of DATA alike, and write a report on one page.

    Example: recveil compare ratings.csv --with pseudonymise --with random-ratings -o report.html
    """
    if out and not Path(out).absolute().parent.is_dir():
        raise RecveilError(f"{out}: there is no folder {Path(out).parent}")
    if out and Path(out).is_dir():
        raise RecveilError(f"{out} is a folder; name a file for the report")
    if out or figures:
        import altair  # noqa: F401  # the pictures need it: better to know now than after minutes of work
    from recveil.desk.cache import Cache, user_cache
    from recveil.desk.compare import Plan, check, measures
    from recveil.desk.compare import compare as run
    from recveil.desk.estimate import estimate
    from recveil.report.text import text

    plan = Plan(seed or 0, holdout, splits, quick, tuple(only.split(",")) if only else None)
    chosen = measures(plan)
    rows = read_released(data, columns, duplicates, fold_tags)
    mechanisms = check(rows, with_)
    say(f"{len(mechanisms)} mechanisms, {len(chosen)} measures: {estimate(rows, mechanisms, chosen, plan)} at most")
    with progress("comparing", len(mechanisms) * (len(chosen) + 1)) as tick:
        report = run(
            rows,
            with_,
            plan,
            cache=Cache(None) if no_cache else user_cache(),
            step=lambda _: tick(1),
            source=data if data.startswith("sample:") else Path(data).name,
            words=words_of(data),
        )
    lines = text(report)
    if out:
        write(report, out)
        lines += ["", f"The report is in {out}"]
    if figures:
        from recveil.report.figures import save

        save(report, figures)
        lines.append(f"The figures are in {figures}")
    answer({**report.record(), "report": out}, lines, as_json)


def write(report: Report, path: str | Path) -> None:
    """The page, written whole or not at all."""
    from recveil.report.html import html

    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(html(report), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RecveilError(f"{path} cannot be written: {error.strerror}") from None


def words_of(data: str) -> Words | None:
    """What an item and a person of a sample are called."""
    from recveil.report.table import Words

    name = data.removeprefix("sample:").partition("?")[0]
    return Words(*SAMPLES[name]) if data.startswith("sample:") and name in SAMPLES else None
