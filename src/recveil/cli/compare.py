"""recveil compare DATA --with SPEC --with SPEC ... -o report.html: the same people, protected in several ways."""

from pathlib import Path
from typing import Annotated

from recveil.cli.arguments import (
    Columns,
    Data,
    Duplicates,
    FoldTags,
    ItemsFile,
    Json,
    LookedLedger,
    Memory,
    SchemaFile,
    ScratchFolder,
    Seed,
    answer,
    names,
    one_file,
    say,
    terminal,
)
from recveil.errors import RecveilError
from recveil.options import Option


def compare(
    data: Data,
    with_: Annotated[
        list[str],
        Option("--with", metavar="SPEC", help="A mechanism, or a release made elsewhere; once for each."),
    ],
    releases: Annotated[
        list[str] | None,
        Option("--release", metavar="FILE", help="A release made by another tool; once for each."),
    ] = None,
    out: Annotated[str | None, Option("-o", "--out", metavar="FILE", help="Where the report goes, .html.")] = None,
    figures: Annotated[str | None, Option(metavar="DIR", help="Every figure as SVG and PNG, too.")] = None,
    only: Annotated[str | None, Option(metavar="NAMES", help="Measures, such as linkage,lift.")] = None,
    quick: Annotated[bool, Option("--quick", help="The quick referees: for a first look.")] = False,
    holdout: Annotated[float, Option(help="The share of people held out as strangers and judges.")] = 0.2,
    splits: Annotated[int, Option(help="For the order of algorithms; 5 or more to trust it.")] = 1,
    shadows: Annotated[
        int | None, Option(help="Releases of halves to learn an attack from; else 16, 8 with --quick; 0: none.")
    ] = None,
    items: ItemsFile = None,
    attributes: Annotated[
        str | None,
        Option(metavar="FILE", help="What people are, to be inferred, or hidden by blur: csv, parquet."),
    ] = None,
    ledger: LookedLedger = None,
    choose_epsilon: Annotated[
        float | None,
        Option(metavar="EPSILON", help="No figures: choose one with noise of this epsilon, entered in --ledger."),
    ] = None,
    stand_in: Annotated[
        str | None, Option(metavar="FILE", help="Public rows to fit the candidates to, for --choose-epsilon.")
    ] = None,
    no_cache: Annotated[bool, Option("--no-cache", help="Measure everything anew.")] = False,
    columns: Columns = None,
    schema: SchemaFile = None,
    duplicates: Duplicates = "last",
    fold_tags: FoldTags = False,
    memory: Memory = None,
    scratch: ScratchFolder = None,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Attack and use several releases of DATA alike, and write a report on one page.

    Example: recveil compare ratings.csv --with pseudonymise --with random-ratings -o report.html
    """
    from recveil.formats.files import check_writable, write_text
    from recveil.releases.inputs import Input

    rows = Input(data, columns, duplicates, fold_tags, schema=schema)
    if choose_epsilon is not None:
        if releases or out or figures:
            raise RecveilError("--choose-epsilon shows no figures and chooses among --with SPEC; leave the rest out")
        from recveil.evaluation.choose import ChooseRequest, run_choose

        stood = Input(stand_in, columns, duplicates, fold_tags, schema=schema) if stand_in else None
        wishes = ChooseRequest(rows, tuple(with_), choose_epsilon, ledger or "", stood, holdout, one_file(items), seed)
        with terminal() as progress:
            chosen = run_choose(wishes, progress)
        answer(chosen.record(), list(chosen.lines), as_json)
        return
    if stand_in:
        raise RecveilError("--stand-in is for --choose-epsilon; to compare on public rows alone, name them as DATA")
    for place, endings in ((out, (".html",)), (figures, ())):
        if place:
            check_writable(place, endings)
    if out or figures:
        import altair  # noqa: F401  # the pictures need it: better to know now than after minutes of work
    from recveil.actions.engine import Engine
    from recveil.evaluation.cache import Cache, user_cache
    from recveil.evaluation.compare import CompareRequest, run_compare
    from recveil.evaluation.design import Design
    from recveil.report.text import text

    room = Engine(memory=memory, scratch=scratch)
    request = CompareRequest(
        rows,
        (*with_, *map(Path, releases or ())),
        Design(seed or 0, holdout, splits, quick, names(only), shadows),
        Cache(None) if no_cache else user_cache(),
        one_file(items),
        attributes,
        ledger,
        room.memory_bytes,
        room.scratch,
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
