"""recveil judge: models of others on real people, within the ledger's budget."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Columns, Data, Duplicates, Json, SchemaFile, Seed, Types, answer, say, terminal
from recveil.cli.commands import Group
from recveil.cli.keys import signer_of
from recveil.errors import RecveilError
from recveil.options import Argument, Option

if TYPE_CHECKING:
    from recveil.court.folder import Answer

judge = Group("judge", "Set people aside, score models of others on them, show the board.")
CourtFolder = Annotated[str, Argument(metavar="COURT", help="The folder that judge new made.")]
Metric = Annotated[str | None, Option("--metric", metavar="NAME@N,...", help="Such as ndcg@10,recall@20.")]


@judge.adds()
def new(
    data: Data,
    ledger: Annotated[str, Option(metavar="FILE", help="The ledger of these people.")],
    out: Annotated[str, Option("-o", "--out", metavar="DIR", help="A new folder, for you alone.")],
    people: Annotated[str, Option(metavar="SHARE", help="Of people to set aside: 20% or 0.2.")] = "20%",
    epsilon: Annotated[float, Option(help="The most that all answers together may spend.")] = 1.0,
    delta: Annotated[float, Option(help="The same.")] = 1e-6,
    scores: Annotated[int | None, Option(help="How many answers it is for; else as many as stay fine.")] = None,
    metric: Metric = "ndcg@10",
    find: Annotated[str, Option(metavar="SHARE", help="Of what each did, the last: what is to be found.")] = "20%",
    like: Annotated[float | None, Option(help="The rating from which on it counts as found.")] = None,
    step: Annotated[float | None, Option(help="Of the ladder; else one that noise seldom climbs.")] = None,
    catalogue: Annotated[str | None, Option(metavar="FILE", help="The public item ids, one a line.")] = None,
    bundle: Annotated[str | None, Option(metavar="DIR", help="Or a published bundle, whose items they are.")] = None,
    catalogue_is_public: Annotated[
        bool, Option("--catalogue-is-public", help="The items of that file, or else of DATA: all may know them.")
    ] = False,
    answer_after: Annotated[
        float | None, Option(metavar="SECONDS", help="When an answer comes; 0: at once, for yourself.")
    ] = None,
    each: Annotated[float, Option(metavar="SECONDS", help="That a network may take for one person.")] = 0.05,
    schema: SchemaFile = None,
    columns: Columns = None,
    types: Types = None,
    duplicates: Duplicates = "last",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Set people aside whom no release under this ledger holds, and make a court of them. Their number is counted once.

    Example: recveil judge new ratings.csv --people 20% --ledger people.jsonl --catalogue-is-public -o court
    """
    from recveil.court.founding import CourtRequest, run_new
    from recveil.releases.inputs import Input

    rows = Input(data, columns, duplicates, types=types, schema=schema)
    request = CourtRequest(
        rows, out, ledger, _share("--people", people), epsilon, delta, scores, metric or "ndcg@10",
        _share("--find", find), like, step, catalogue, bundle, catalogue_is_public, answer_after, each, seed,
    )  # fmt: skip
    with terminal() as progress:
        court = run_new(request, progress)
    settled = asdict(court.settled)
    line = f"{out}: about {court.settled.people:,} {court.settled.unit}s, {court.settled.scores} answers"
    answer({"court": out, "settled": settled}, [line], as_json)


@judge.adds()
def score(
    court: CourtFolder,
    model: Annotated[str, Argument(metavar="MODEL", help="A .parquet or .onnx; or a bundle: reference models.")],
    name: Annotated[str | None, Option(help="What the board calls it; else the file's name.")] = None,
    metric: Metric = None,
    ladder: Annotated[bool, Option("--ladder", help="Only whether it is better than the best by a step.")] = False,
    owner_only: Annotated[
        bool, Option("--owner-only", help="It was learned from private rows: keep it off the board.")
    ] = False,
    as_json: Json = False,
) -> None:
    """The mean over the judged people, with noise. What is refused is refused for the file, and spends nothing.

    Example: recveil judge score court model.parquet --name team-a --metric ndcg@10,recall@20
    """
    from recveil.court.folder import open_court
    from recveil.court.ladder import climb
    from recveil.court.references import references
    from recveil.court.scoring import enter
    from recveil.court.scoring import score as run

    opened = open_court(court)
    entrants = references(opened, model) if Path(model).is_dir() else [enter(opened, model, name, owner_only)]
    for entrant in entrants:
        found = entrant.submission
        say(f"{entrant.name}: {found.kind}, {found.rows:,} rows, sha256 {found.sha256[:16]}")
        if found.ignored:
            say(f"{found.ignored:,} of them are about items outside the catalogue and were ignored")
    answers = [climb(opened, e) for e in entrants] if ladder else run(opened, entrants, metric)
    lines = [line_of(a) for a in answers] + [f"{opened.left:,} answers are left"]
    answer({"answers": [asdict(a) for a in answers], "left": opened.left}, lines, as_json)


@judge.adds()
def compare(
    court: CourtFolder,
    one: Annotated[str, Argument(metavar="MODEL", help="A file, or the name of one that was scored.")],
    other: Annotated[str, Argument(metavar="OTHER", help="The same.")],
    metric: Metric = None,
    as_json: Json = False,
) -> None:
    """By how much one model is better than another for the same people. It costs as much as one score.

    Example: recveil judge compare court team-a item-knn
    """
    from recveil.court.folder import open_court
    from recveil.court.scoring import compare as run
    from recveil.court.scoring import entered

    opened = open_court(court)
    found = run(opened, entered(opened, one), entered(opened, other), metric)
    lines = [line_of(found), f"{opened.left:,} answers are left"]
    answer({"answers": [asdict(found)], "left": opened.left}, lines, as_json)


@judge.adds()
def board(
    court: CourtFolder,
    out: Annotated[str, Option("-o", "--out", metavar="FILE", help="board.html; board.json goes beside it.")],
    sign: Annotated[str | None, Option(metavar="KEY", help="Sign it with this key.")] = None,
    as_json: Json = False,
) -> None:
    """Write the board: intervals, ties, what is left of the budget. It looks at nobody: all of it was answered before.

    Example: recveil judge board court -o board.html --sign owner.key
    """
    from recveil.court.board import save_board
    from recveil.court.folder import open_court

    made = save_board(open_court(court), out, signer_of(sign))
    answer(made, [", ".join(made["files"])], as_json)


def line_of(a: "Answer") -> str:
    """An answer in a line."""
    if a.kind == "ladder":
        return f"{a.name}: {'better by a step: it leads now' if a.better else 'not better by a step'}"
    what = f"{a.name} over {a.other}" if a.kind == "compare" else a.name
    return f"{what}: {a.metric} {a.value:.4f}, noise ±{a.noise:.4f}, sample ±{a.sample:.4f}"


def _share(option: str, text: str) -> float:
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise RecveilError(f"{option} is a share such as 20% or 0.2, not {text!r}") from None
