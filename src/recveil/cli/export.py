"""recveil export BUNDLE --to huggingface -o DIR: a bundle as other tools open it."""

from typing import Annotated

from recveil.cli.arguments import EngineName, Json, Master, answer, say
from recveil.options import Argument, Option


def export(
    bundle: Annotated[str, Argument(metavar="BUNDLE", help="A bundle.")],
    to: Annotated[str, Option("--to", help="csv, huggingface, recbole, kaggle, frictionless, zip, challenge.")],
    out: Annotated[str, Option("-o", "--out", metavar="DIR", help="A new folder; for zip a new file.")],
    court: Annotated[
        str | None, Option(metavar="DIR", help="For a challenge: the court whose items and limits it is about.")
    ] = None,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """Write a verified bundle as the folder or file that somebody else's tool opens; rows, hashes and claims stay.

    Example: recveil export out --to huggingface -o hub
    """
    if to == "challenge":
        from recveil.court.challenge import export_challenge

        made = export_challenge(bundle, out, court)
    else:
        from recveil.actions.engine import Engine
        from recveil.governance.export import export as write

        with Engine(engine, master).place(bundle) as place:
            made = write(place, to, out)
    for remark in made["remarks"]:
        say(remark)
    answer(made, [f"{out}: {', '.join(made['files'][:8])}"], as_json)
