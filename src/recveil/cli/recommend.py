"""recveil recommend DATA --with SPEC --top N: lists for every user, learned from what the mechanism lets out."""

from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Json, answer, terminal
from recveil.options import Request

if TYPE_CHECKING:
    from recveil.actions.recommend import RecommendRequest


def recommend(
    request: Annotated["RecommendRequest", Request("recveil.actions.recommend")], as_json: Json = False
) -> None:
    """Perturb DATA, learn from the perturbed data alone, and recommend to every user: user, tab, item1,item2,...

    Example: recveil recommend ratings.csv --with mask:p=auto --top 30
    """
    from recveil.actions.recommend import run_recommend
    from recveil.formats.files import check_writable, write_text

    out = request.out
    if out and not request.engine.on_spark:
        check_writable(out)
    with terminal() as progress:
        made = run_recommend(request, progress)
    if made.directory:
        answer(made.record(), [f"{out}: {made.number:,} lists of {made.top}"], as_json)
        return
    from recveil.evaluation.recommenders.mask import lines

    shown = list(lines(made.lists if out else made.named()))
    if out:
        write_text(out, "\n".join(shown) + "\n")
        shown = [f"{out}: {made.number:,} lists of {made.top}"]
    answer(made.record(), shown, as_json)
