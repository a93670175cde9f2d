"""recveil tune DATA --with NAME: the parameters that suit these data."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Json, answer, say, terminal
from recveil.errors import RecveilError
from recveil.options import Option, Request

if TYPE_CHECKING:
    from recveil.evaluation.tune import TuneRequest

_FIGURES = (".html", ".svg", ".png")


def tune(
    request: Annotated["TuneRequest", Request("recveil.evaluation.tune")],
    figure: Annotated[str | None, Option(metavar="FILE", help="The curve as .html, .svg or .png.")] = None,
    as_json: Json = False,
) -> None:
    """Find the parameters of a mechanism that keep a bound: on DATA, on a sample, or on a generated twin.

    Example: recveil tune clicks.csv --with dp-streams:delta=1e-6 --keep "lift>=0.7" --people 100000
    """
    if figure and not figure.endswith(_FIGURES):
        raise RecveilError(f"{figure}: a figure is written as {', '.join(_FIGURES)}")
    from recveil.evaluation.tune import run_tune

    if request.items and request.items.isdigit():  # before there were files of items
        say("--items names a file of items now; the size of a twin is --twin-items")
        request = replace(request, twin_items=int(request.items), items=None)
    with terminal(lines=True) as progress:
        found = run_tune(request, progress)
    if figure:
        if found.chart is None:
            raise RecveilError("there is no figure of this curve; leave --figure out")
        _save(found.chart(), figure)
        say(f"the curve is in {figure}; it was computed on the true data and is not for publication")
    name = request.spec.partition(":")[0]
    answer({"mechanism": name, "spec": found.spec, **found.found}, list(found.lines), as_json)


def _save(chart: object, path: str) -> None:
    try:
        chart.save(path, **({"inline": True} if path.endswith(".html") else {}))  # type: ignore[attr-defined]
    except OSError as error:
        raise RecveilError(f"{path} cannot be written: {error.strerror or error}") from None
