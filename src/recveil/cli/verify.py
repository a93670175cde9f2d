"""recveil verify DIR: do data and manifest belong together, and who says so?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recveil.cli.arguments import Engine, Json, Master, Seed, answer
from recveil.errors import unknown

if TYPE_CHECKING:
    from recveil.desk.verification import Verification


def verify(
    bundle: Annotated[str, typer.Argument(metavar="DIR", help="A bundle.")],
    trust: Annotated[
        str | None, typer.Option(metavar="FILE", help="The keys that you know: fingerprint, role, name; a line each.")
    ] = None,
    owner: Annotated[str | None, typer.Option(metavar="DIR", help="The owner's folder; else DIR.owner.")] = None,
    engine: Engine = "local",
    master: Master = None,
    as_json: Json = False,
    seed: Seed = None,  # noqa: ARG001
) -> None:
    """Prove that a bundle's files belong together, and say who signed what. Exit code 3 where something does not hold.

    Example: recveil verify out --trust fingerprints
    """
    from pathlib import Path

    from recveil.desk.claims import read_trust
    from recveil.desk.places import Folder
    from recveil.desk.verification import verify_bundle
    from recveil.spark.lake import of_this_machine

    if engine not in ("local", "spark"):
        raise unknown("--engine", engine, ("local", "spark"))
    known = read_trust(trust) if trust else None
    folder = Folder(Path(owner)) if owner else None
    found: Verification
    if engine == "spark":
        from recveil.spark.lake import place
        from recveil.spark.reading import check_counts
        from recveil.spark.session import session

        with session(master) as spark:
            found = verify_bundle(place(spark, bundle), known, folder, check_counts(spark))
    else:
        of_this_machine(bundle)
        found = verify_bundle(bundle, known, folder)
    answer(found.record(), found.lines(), as_json)
    if found.problems:
        raise typer.Exit(3)
