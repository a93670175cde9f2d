"""recveil verify DIR: do data and manifest belong together?"""

from __future__ import annotations

from typing import Annotated

import typer

from recveil.cli.arguments import Json, Seed, answer


def verify(
    bundle: Annotated[str, typer.Argument(metavar="DIR", help="A bundle.")],
    as_json: Json = False,
    seed: Seed = None,  # noqa: ARG001
) -> None:
    """Prove that a bundle's data and manifest belong together. Exit code 3 where they do not.

    Example: recveil verify out
    """
    from recveil.bundle import BrokenBundleError, load

    try:
        manifest = load(bundle).manifest
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
