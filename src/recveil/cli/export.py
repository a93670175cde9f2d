"""recveil export BUNDLE --to huggingface -o DIR: a bundle as other tools open it."""

from __future__ import annotations

from typing import Annotated

import typer

from recveil.cli.arguments import Engine, Json, Master, Seed, answer, say
from recveil.errors import unknown


def export(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="A bundle.")],
    to: Annotated[str, typer.Option("--to", help="huggingface, recbole, kaggle, frictionless, zip.")],
    out: Annotated[str, typer.Option("-o", "--out", metavar="DIR", help="A new folder; for zip a new file.")],
    engine: Engine = "local",
    master: Master = None,
    as_json: Json = False,
    seed: Seed = None,  # noqa: ARG001
) -> None:
    """Write a verified bundle as the folder or file that somebody else's tool opens; rows, hashes and claims stay.

    Example: recveil export out --to huggingface -o hub
    """
    from recveil.desk.export import export as write
    from recveil.spark.lake import of_this_machine

    if engine not in ("local", "spark"):
        raise unknown("--engine", engine, ("local", "spark"))
    if engine == "spark":
        from recveil.spark.lake import place
        from recveil.spark.session import session

        with session(master) as spark:
            made = write(place(spark, bundle), to, out)
    else:
        of_this_machine(bundle)
        made = write(bundle, to, out)
    for remark in made["remarks"]:
        say(remark)
    answer(made, [f"{out}: {', '.join(made['files'][:8])}"], as_json)
