"""recveil tune DATA --with NAME: the parameters that suit these data."""

from typing import Annotated

from recveil.cli.arguments import (
    Columns,
    Data,
    Duplicates,
    ItemsFile,
    Json,
    SchemaFile,
    Seed,
    answer,
    one_file,
    say,
    terminal,
)
from recveil.errors import RecveilError
from recveil.options import Option

_FIGURES = (".html", ".svg", ".png")


def tune(
    data: Data,
    with_: Annotated[str, Option("--with", metavar="SPEC", help="A mechanism that can be tuned, such as mask.")],
    keep: Annotated[
        str | None,
        Option(metavar="BOUND", help="Such as lift>=0.7, skill>=0.8, agreement>=0.8 or linkage@8<=0.1."),
    ] = None,
    people: Annotated[
        int | None, Option(metavar="N", help="Measure on a generated twin with so many people, not on DATA.")
    ] = None,
    twin_items: Annotated[int | None, Option(metavar="N", help="And with so many items.")] = None,
    count: Annotated[
        float | None, Option(metavar="EPSILON", help="Or with as many as there are, counted with this noise.")
    ] = None,
    ledger: Annotated[
        str | None, Option(metavar="FILE", help="Enter what --count spends, or that DATA were looked at.")
    ] = None,
    on_data: Annotated[
        bool, Option("--on-data", help="Measure on DATA, although no promise covers what is found there.")
    ] = False,
    items: ItemsFile = None,
    figure: Annotated[str | None, Option(metavar="FILE", help="The curve as .html, .svg or .png.")] = None,
    columns: Columns = None,
    schema: SchemaFile = None,
    duplicates: Duplicates = "last",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Find the parameters of a mechanism that keep a bound: on DATA, on a sample, or on a generated twin.

    Example: recveil tune clicks.csv --with dp-streams:delta=1e-6 --keep "lift>=0.7" --people 100000
    """
    if figure and not figure.endswith(_FIGURES):
        raise RecveilError(f"{figure}: a figure is written as {', '.join(_FIGURES)}")
    from recveil.evaluation.tune import TuneRequest, run_tune
    from recveil.releases.inputs import Input

    rows = Input(data, columns, duplicates, schema=schema)
    file = one_file(items)
    if file and file.isdigit():  # what --items meant before there were files of them
        twin_items, file = int(file), None
    request = TuneRequest(rows, with_, keep, people, twin_items, on_data, seed, file, count, ledger)
    with terminal(lines=True) as progress:
        found = run_tune(request, progress)
    if figure:
        if found.chart is None:
            raise RecveilError("there is no figure of this curve; leave --figure out")
        _save(found.chart(), figure)
        say(f"the curve is in {figure}; it was computed on the true data and is not for publication")
    answer({"mechanism": with_.partition(":")[0], "spec": found.spec, **found.found}, list(found.lines), as_json)


def _save(chart: object, path: str) -> None:
    try:
        chart.save(path, **({"inline": True} if path.endswith(".html") else {}))  # type: ignore[attr-defined]
    except OSError as error:
        raise RecveilError(f"{path} cannot be written: {error.strerror or error}") from None
