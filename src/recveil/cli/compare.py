"""recveil compare DATA --with SPEC --with SPEC ... -o report.html: the same people, protected in several ways."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Json, Seed, answer, say, terminal
from recveil.errors import RecveilError
from recveil.options import Option, Request

if TYPE_CHECKING:
    from recveil.actions.compare import CompareRequest
    from recveil.evaluation.choose import NoisyChoice


def compare(
    request: Annotated["CompareRequest", Request("recveil.actions.compare")],
    out: Annotated[str | None, Option("-o", "--out", metavar="FILE", help="Where the report goes, .html.")] = None,
    figures: Annotated[str | None, Option(metavar="DIR", help="Every figure as SVG and PNG, too.")] = None,
    choose_epsilon: Annotated[
        float | None,
        Option(metavar="EPSILON", help="No figures: choose one with noise of this epsilon, entered in --ledger."),
    ] = None,
    stand_in: Annotated[
        str | None, Option(metavar="FILE", help="Public rows to fit the candidates to, for --choose-epsilon.")
    ] = None,
    no_cache: Annotated[bool, Option("--no-cache", help="Measure everything anew.")] = False,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Attack and use several releases of DATA alike, and write a report on one page.

    Example: recveil compare ratings.csv --with pseudonymise --with random-ratings -o report.html
    """
    from recveil.formats.files import check_writable, write_text

    if choose_epsilon is not None:
        if request.releases or out or figures:
            raise RecveilError("--choose-epsilon shows no figures and chooses among --with SPEC; leave the rest out")
        chosen = _chosen(request, choose_epsilon, stand_in, seed)
        answer(chosen.record(), list(chosen.lines), as_json)
        return
    if stand_in:
        raise RecveilError("--stand-in is for --choose-epsilon; to compare on public rows alone, name them as DATA")
    for place, endings in ((out, (".html",)), (figures, ())):
        if place:
            check_writable(place, endings)
    if out or figures:
        import altair  # noqa: F401  # the pictures need it: better to know now than after minutes of work
    from recveil.actions.compare import run_compare
    from recveil.evaluation.cache import Cache, user_cache
    from recveil.report.text import text

    design, cache = replace(request.design, seed=seed or 0), Cache(None) if no_cache else user_cache()
    request = replace(request, design=design, cache=cache)
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


def _chosen(request: "CompareRequest", epsilon: float, stand_in: str | None, seed: int | None) -> "NoisyChoice":
    from recveil.evaluation.choose import ChooseRequest, run_choose

    stood = replace(request.data, source=stand_in) if stand_in else None
    share, ledger = request.design.holdout, request.ledger or ""
    wishes = ChooseRequest(request.data, request.candidates, epsilon, ledger, stood, share, request.items, seed)
    with terminal() as progress:
        return run_choose(wishes, progress)
