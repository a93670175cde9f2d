"""recveil tune DATA --with NAME: the parameters that suit these data."""

from __future__ import annotations

from typing import Annotated

import typer

from recveil.cli.arguments import Columns, Data, Duplicates, Json, Seed, answer, say, terminal
from recveil.errors import RecveilError

_FIGURES = (".html", ".svg", ".png")


def tune(
    data: Data,
    with_: Annotated[str, typer.Option("--with", metavar="SPEC", help="A mechanism that can be tuned, such as mask.")],
    keep: Annotated[
        str | None, typer.Option(metavar="BOUND", help="Such as agreement>=0.8, hiding>=0.5 or linkage@8<=0.1.")
    ] = None,
    figure: Annotated[str | None, typer.Option(metavar="FILE", help="The curve as .html, .svg or .png.")] = None,
    columns: Columns = None,
    duplicates: Duplicates = "last",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Find the parameters of a mechanism that suit DATA. It looks at the true data: keep the answer to yourself.

    Example: recveil tune ratings.csv --with mask --figure curve.html
    """
    from recveil.desk.inputs import Input
    from recveil.desk.tune import TuneRequest, run_tune

    request = TuneRequest(Input(data, columns, duplicates), with_, keep, seed)
    if figure and not figure.endswith(_FIGURES):
        raise RecveilError(f"{figure}: a figure is written as {', '.join(_FIGURES)}")
    with terminal() as progress:
        found = run_tune(request, progress)
    if figure:
        if found.chart is None:
            raise RecveilError(f"there is no figure for {request.name}")
        _save(found.chart(), figure)
        say(f"the curve is in {figure}; it was computed on the true data and is not for publication")
    answer({"mechanism": request.name, "spec": found.spec, **found.found}, list(found.lines), as_json)


def _save(chart: object, path: str) -> None:
    try:
        chart.save(path, **({"inline": True} if path.endswith(".html") else {}))  # type: ignore[attr-defined]
    except OSError as error:
        raise RecveilError(f"{path} cannot be written: {error.strerror or error}") from None
