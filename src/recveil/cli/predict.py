"""recveil predict BUNDLE HISTORY: ratings straight from the tables of a bundle, told by a person's own history."""

from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Json, answer, terminal
from recveil.options import Option, Request

if TYPE_CHECKING:
    from recveil.evaluation.predict import PredictRequest


def predict(
    request: Annotated["PredictRequest", Request("recveil.evaluation.predict")],
    out: Annotated[str | None, Option("-o", "--out", metavar="FILE", help="Write user,item,rating there.")] = None,
    as_json: Json = False,
) -> None:
    """Predict how people would rate items, from the tables of BUNDLE and their own HISTORY, which stays with you.

    Example: recveil predict out mine.csv --top 5
    """
    from recveil.evaluation.predict import run_predict
    from recveil.formats.files import check_writable, write_text

    if out:
        check_writable(out)
    with terminal() as progress:
        made = run_predict(request, progress)
    text = made.frame().with_columns(rating=made.frame()["rating"].round(3)).write_csv()
    lines = text.rstrip("\n").split("\n")
    if out:
        write_text(out, text)
        lines = [f"{out}: {len(made.frame()):,} predictions"]
    if made.unknown:
        lines.append(f"{made.unknown:,} pairs were left out: their item has no table, or their user no history")
    answer(made.record(), lines, as_json)
