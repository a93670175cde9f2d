"""recveil compare DATA --with SPEC --with SPEC ... -o report.html: the same people, protected in several ways."""

from pathlib import Path
from typing import Annotated

import typer

from recveil.cli.arguments import (
    CatalogueFile,
    Columns,
    Data,
    Duplicates,
    FoldTags,
    Json,
    Seed,
    answer,
    names,
    say,
    terminal,
)


def compare(
    data: Data,
    with_: Annotated[
        list[str],
        typer.Option("--with", metavar="SPEC", help="A mechanism, or a release made elsewhere; once for each."),
    ],
    releases: Annotated[
        list[str] | None,
        typer.Option("--release", metavar="FILE", help="A release made by another tool; once for each."),
    ] = None,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE", help="Where the report goes, .html.")
    ] = None,
    figures: Annotated[str | None, typer.Option(metavar="DIR", help="Every figure as SVG and PNG, too.")] = None,
    only: Annotated[str | None, typer.Option(metavar="NAMES", help="Measures, such as linkage,lift.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The quick referees: for a first look.")] = False,
    holdout: Annotated[float, typer.Option(help="The share of people held out as strangers and judges.")] = 0.2,
    splits: Annotated[int, typer.Option(help="For the order of algorithms; 5 or more to trust it.")] = 1,
    shadows: Annotated[
        int | None, typer.Option(help="Releases of halves to learn an attack from; else 16, 8 with --quick; 0: none.")
    ] = None,
    catalogue: CatalogueFile = None,
    attributes: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What people are, to be inferred, or hidden by blur: csv, parquet."),
    ] = None,
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
    from recveil.formats.files import check_writable, write_text

    for place, endings in ((out, (".html",)), (figures, ())):
        if place:
            check_writable(place, endings)
    if out or figures:
        import altair  # noqa: F401  # the pictures need it: better to know now than after minutes of work
    from recveil.desk.cache import Cache, user_cache
    from recveil.desk.compare import CompareRequest, run_compare
    from recveil.desk.design import Design
    from recveil.desk.inputs import Input
    from recveil.report.text import text

    request = CompareRequest(
        Input(data, columns, duplicates, fold_tags),
        (*with_, *map(Path, releases or ())),
        Design(seed or 0, holdout, splits, quick, names(only), shadows),
        Cache(None) if no_cache else user_cache(),
        catalogue,
        attributes,
    )
    with terminal() as progress:
        report = run_compare(request, progress)
    lines = text(report)
    answer({**report.record(), "report": out}, lines, as_json)  # first: whatever happens to the files, it was measured
    if out:
        from recveil.report.html import html

        write_text(out, html(report))
        say(f"The report is in {out}")
    if figures:
        from recveil.report.figures import save

        save(report, figures)
        say(f"The figures are in {figures}")
