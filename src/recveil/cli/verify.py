"""recveil verify DIR: do data and manifest belong together, and who says so?"""

from typing import Annotated

import typer

from recveil.cli.arguments import EngineName, Json, Master, NoSeed, Owner, answer


def verify(
    bundle: Annotated[str, typer.Argument(metavar="DIR", help="A bundle.")],
    trust: Annotated[
        str | None, typer.Option(metavar="FILE", help="The keys that you know: fingerprint, role, name; a line each.")
    ] = None,
    owner: Owner = None,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
    seed: NoSeed = None,  # noqa: ARG001
) -> None:
    """Prove that a bundle's files belong together, and say who signed what. Exit code 3 where something does not hold.

    Example: recveil verify out --trust fingerprints
    """
    from recveil.desk.claims import read_trust
    from recveil.desk.engine import Engine
    from recveil.desk.owner import owner_folder
    from recveil.desk.verification import verify_bundle

    known = read_trust(trust) if trust else None
    with Engine(engine, master).place(bundle) as place:
        found = verify_bundle(place, known, owner_folder(place, owner))
    answer(found.record(), found.lines(), as_json)
    if found.problems:
        raise typer.Exit(3)
