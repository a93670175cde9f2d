"""recveil assess DATA: how exposed are these people, and which mechanisms fit?"""

from typing import TYPE_CHECKING, Annotated, Any

from recveil.cli.arguments import Json, answer, terminal
from recveil.options import Request

if TYPE_CHECKING:
    from recveil.actions.assess import AssessRequest


def assess(request: Annotated["AssessRequest", Request("recveil.actions.assess")], as_json: Json = False) -> None:
    """What would happen if DATA were released with nothing but new ids: who would be found, and how easily.

    The riskiest people are named by their ids in DATA: the answer is for the owner, not for publication.

    Example: recveil assess ratings.csv
    """
    from recveil.actions.assess import run_assess

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
