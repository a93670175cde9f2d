"""recveil run desk.toml: what the desk's pages do, from the file that holds its choices."""

from typing import Annotated

from recveil.cli.arguments import Json, answer, terminal
from recveil.cli.keys import passphrase
from recveil.options import Argument, Option


def run(
    file: Annotated[str, Argument(metavar="FILE", help="A desk.toml, or the folder that it lies in.")],
    into: Annotated[
        str | None, Option("--into", metavar="FOLDER", help="A new project with the same choices; else this one.")
    ] = None,
    compare: Annotated[
        bool, Option("--compare/--no-compare", help="Compare the candidates first; else only the chosen one.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Do everything that a desk.toml asks for and that is not done: compare, release, attack, decide, publish.

    With a seed in desk.toml it is an experiment, which is neither approved nor published.

    Example: recveil run ratings-desk/desk.toml
    """
    from recveil.desk.project.running import run_project

    with terminal(lines=True) as progress:
        found = run_project(file, into, compare, passphrase, progress)
    answer(found, found["lines"], as_json)
