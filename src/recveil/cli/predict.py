"""recveil predict BUNDLE HISTORY: ratings straight from the tables of a bundle, told by a person's own history."""

from typing import Annotated

from recveil.cli.arguments import Columns, Json, answer, terminal
from recveil.options import Argument, Option


def predict(
    bundle: Annotated[str, Argument(metavar="BUNDLE", help="A release of dp-ratings.")],
    history: Annotated[str, Argument(metavar="HISTORY", help="What people rated: user, item, rating.")],
    pairs: Annotated[str | None, Option(metavar="FILE", help="Predict these: a table of user and item.")] = None,
    top: Annotated[int, Option(help="Without --pairs: as many new items of each person, the best first.")] = 10,
    out: Annotated[str | None, Option("-o", "--out", metavar="FILE", help="Write user,item,rating there.")] = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Predict how people would rate items, from the tables of BUNDLE and their own HISTORY, which stays with you.

    Example: recveil predict out mine.csv --top 5
    """
    from recveil.evaluation.predict import PredictRequest, run_predict
    from recveil.formats.files import check_writable, write_text
    from recveil.releases.inputs import Input

    if out:
        check_writable(out)
    request = PredictRequest(bundle, Input(history, columns), Input(pairs) if pairs else None, top)
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
