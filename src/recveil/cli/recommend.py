"""recveil recommend DATA --with SPEC --top N: lists for every user, learned from what the mechanism lets out."""

from typing import Annotated

from recveil.cli.arguments import (
    Columns,
    Data,
    Duplicates,
    EngineName,
    ItemsArePublic,
    ItemsFile,
    Json,
    Master,
    OutsideBudget,
    SchemaFile,
    Seed,
    answer,
    one_file,
    terminal,
)
from recveil.options import Option


def recommend(
    data: Data,
    with_: Annotated[str, Option("--with", metavar="SPEC", help="Such as mask:p=auto or mask:p=0.9.")],
    top: Annotated[int, Option(help="Items in a list.")] = 30,
    score: Annotated[str, Option(help="max: the closest item counts; sum: all of them.")] = "max",
    history: Annotated[str, Option(help="real: it stays on the user's side; or perturbed.")] = "real",
    minsup: Annotated[float | None, Option(help="Estimated users an item must have; default 6 deviations.")] = None,
    similar: Annotated[str | None, Option(metavar="FILE", help="Write the lists of similar items there.")] = None,
    items: ItemsFile = None,
    catalogue_is_public: ItemsArePublic = False,
    statistics: Annotated[
        str | None, Option(metavar="FILE", help="Tables kept by a release; nothing more is spent.")
    ] = None,
    ledger: Annotated[
        str | None, Option(metavar="FILE", help="Add what is spent to this file, and say the total.")
    ] = None,
    outside_budget: OutsideBudget = False,
    out: Annotated[str | None, Option("-o", "--out", metavar="FILE", help="Write the lists there.")] = None,
    engine: EngineName = "local",
    master: Master = None,
    columns: Columns = None,
    schema: SchemaFile = None,
    duplicates: Duplicates = "last",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Perturb DATA, learn from the perturbed data alone, and recommend to every user: user, tab, item1,item2,...

    Example: recveil recommend ratings.csv --with mask:p=auto --top 30
    """
    from recveil.actions.engine import Engine
    from recveil.actions.recommend import RecommendRequest, run_recommend
    from recveil.formats.files import check_writable, write_text
    from recveil.releases.inputs import Input

    request = RecommendRequest(
        data=Input(data, columns, duplicates, schema=schema),
        mechanism=with_,
        top=top,
        score=score,
        history=history,
        engine=Engine(engine, master),
        minsup=minsup,
        similar=similar,
        items=one_file(items),
        catalogue_is_public=catalogue_is_public,
        statistics=statistics,
        ledger=ledger,
        outside_budget=outside_budget,
        out=out,
        seed=seed,
    )
    if out and not request.engine.on_spark:
        check_writable(out)
    with terminal() as progress:
        made = run_recommend(request, progress)
    if made.directory:
        answer(made.record(), [f"{out}: {made.number:,} lists of {top}"], as_json)
        return
    from recveil.evaluation.recommenders.mask import lines

    shown = list(lines(made.lists if out else made.named()))
    if out:
        write_text(out, "\n".join(shown) + "\n")
        shown = [f"{out}: {made.number:,} lists of {top}"]
    answer(made.record(), shown, as_json)
