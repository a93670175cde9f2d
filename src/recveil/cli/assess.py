"""recveil assess DATA: how exposed are these people, and which mechanisms fit?"""

from typing import Annotated, Any

from recveil.cli.arguments import (
    Columns,
    Data,
    Json,
    Memory,
    SchemaFile,
    ScratchFolder,
    Seed,
    answer,
    numbers,
    terminal,
)
from recveil.options import Option


def assess(
    data: Data,
    columns: Columns = None,
    schema: SchemaFile = None,
    known: Annotated[
        str | None, Option("--known", metavar="R,...", help="How many items the attacker knows: 2,4,8.")
    ] = None,
    memory: Memory = None,
    scratch: ScratchFolder = None,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """What would happen if DATA were released with nothing but new ids: who would be found, and how easily.

    The riskiest people are named by their ids in DATA: the answer is for the owner, not for publication.

    Example: recveil assess ratings.csv
    """
    levels = numbers(known)
    from recveil.actions.assess import AssessRequest, run_assess
    from recveil.actions.engine import Engine
    from recveil.releases.inputs import Input

    room = Engine(memory=memory, scratch=scratch)
    request = AssessRequest(Input(data, columns, schema=schema), levels, seed, room.memory_bytes, room.scratch)
    with terminal() as progress:
        found = run_assess(request, progress)
    lines = [
        f"{found['kind']}: {found['rows']:,} rows, {found['users']:,} people, {found['items']:,} items",
        *found["words"],
    ]
    if found["riskiest_users"]:
        named = ", ".join(str(r["user"]) for r in found["riskiest_users"])
        lines.append(f"riskiest (for you alone): {named}")
    lines += ["", "mechanisms for these data:", *_fitting(found["advice"])]
    answer(found, lines, as_json)


def _fitting(advice: list[dict[str, Any]]) -> list[str]:
    return [f"  {a['mechanism']}: {a['why']}" for a in advice if a["fits"]]
