"""recveil verify DIR: do data and manifest belong together, and who says so?"""

from typing import Annotated

from recveil.cli.arguments import EngineName, Json, Master, Owner, Trust, answer
from recveil.options import Argument, Option


def verify(
    bundle: Annotated[str, Argument(metavar="DIR", help="A bundle, or the .html of a court's board.")],
    trust: Trust = None,
    approved: Annotated[
        bool, Option("--approved", help="Nothing holds but an approval that stands, by an officer whom you know.")
    ] = False,
    for_: Annotated[
        str | None, Option("--for", metavar="RECIPIENT", help="And that is for this recipient, such as public.")
    ] = None,
    owner: Owner = None,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """Prove that a bundle's files belong together, say who signed what, and how it stands.

    Exit code 3 where something does not hold, or where it was refused, withdrawn, superseded or has expired.

    Example: recveil verify out --trust trust.toml --approved --for public
    """
    if bundle.endswith((".html", ".json")):
        _verify_board(bundle, trust, as_json)
        return
    from recveil.actions.engine import Engine
    from recveil.governance.owner import owner_folder
    from recveil.governance.trust import read_trust
    from recveil.governance.verification import verify_bundle

    known = read_trust(trust) if trust else None
    with Engine(engine, master).place(bundle) as place:
        found = verify_bundle(place, known, owner_folder(place, owner), approved=approved, recipient=for_)
    answer(found.record(), found.lines(), as_json)
    if found.problems:
        raise SystemExit(3)


def _verify_board(board: str, trust: str | None, as_json: bool) -> None:
    from recveil.court.board import verify_board
    from recveil.governance.trust import read_trust

    known = read_trust(trust) if trust else None
    document, found = verify_board(board, known)
    problems = [*found.problems, *([] if known is None or found.claims else ["nobody signed this board"])]
    remarks = [*found.remarks, *(["nobody signed it"] if not found.claims else [])]
    lines = [f"{'not verified' if problems else 'the files hold'}: the board of court {document.get('court')}"]
    lines += found.lines() + [f"remark: {r}" for r in remarks] + [f"not verified: {p}" for p in problems]
    record = {"verified": not problems, "claims": found.record(), "problems": problems, "remarks": remarks}
    answer(record, lines, as_json)
    if problems:
        raise SystemExit(3)
