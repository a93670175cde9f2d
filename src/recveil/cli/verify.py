"""recveil verify DIR: do data and manifest belong together?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recveil.cli.arguments import EngineName, Json, Master, Seed, answer
from recveil.errors import unknown


def verify(
    bundle: Annotated[str, typer.Argument(metavar="DIR", help="A bundle.")],
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
    seed: Seed = None,  # noqa: ARG001
) -> None:
    """Prove that a bundle's data and manifest belong together. Exit code 3 where they do not.

    Example: recveil verify out
    """
    from recveil.desk.bundle import BrokenBundleError, load
    from recveil.spark.lake import check_local_place

    if engine not in ("local", "spark"):
        raise unknown("--engine", engine, ("local", "spark"))
    if engine == "local":
        check_local_place(bundle)
    try:
        manifest = _on_spark(bundle, master) if engine == "spark" else load(bundle).manifest
    except BrokenBundleError as broken:
        answer({"verified": False, "why": str(broken)}, [f"not verified: {broken}"], as_json)
        raise typer.Exit(3) from None
    promise = manifest["guarantee"]
    lines = [
        f"verified: {manifest['rows']:,} rows by {manifest['spec']}, made with recveil {manifest['recveil']}",
        f"guarantee ({promise['status']}): {promise['sentence']}",
    ]
    if manifest["seeded"]:
        lines.append("made with a seed: an experiment, not for publication")
    answer({"verified": True, "manifest": manifest}, lines, as_json)


def _on_spark(bundle: str, master: str | None) -> dict[str, Any]:
    from recveil.spark.lake import place
    from recveil.spark.reading import verified
    from recveil.spark.session import session

    with session(master) as spark:
        return verified(spark, place(spark, bundle))
