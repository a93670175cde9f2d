"""recveil store: the click advisor's database copied, brought back and checked."""

from typing import Annotated, Any

from recveil.cli.arguments import Json, answer
from recveil.cli.commands import Group
from recveil.options import Argument, Option

store = Group("store", "Back up, restore and check the database of recveil advisor serve.")
Database = Annotated[
    str,
    Option(metavar="URL", envvar="RECVEIL_SERVE_DATABASE", help="A SQLite file, or postgresql://..."),
]


@store.adds()
def backup(
    file: Annotated[str, Argument(metavar="FILE", help="The new file: a SQLite database without keys.")],
    database: Database = "recveil.sqlite",
    as_json: Json = False,
) -> None:
    """Copy the database into one file, also while it is served. It holds everybody's clicks: guard it as the database.

    Example: recveil store backup monday.backup --database postgresql://advisor@localhost/advisor
    """
    from recveil.advisor import backup as copying

    found = copying.backup(database, file)
    answer(found, [f"{file}: {_amounts(found)}"], as_json)


@store.adds()
def restore(
    file: Annotated[str, Argument(metavar="FILE", help="A file that recveil store backup made.")],
    database: Database = "recveil.sqlite",
    as_json: Json = False,
) -> None:
    """Fill an empty database from a backup. The year of its public counters ends with it.

    Example: recveil store restore monday.backup --database new.sqlite
    """
    from recveil.advisor import backup as copying

    found = copying.restore(file, database)
    lines = [
        f"{_amounts(found)}, as of {found['taken']}",
        "a new year of public counters begins at the next start; what came after the backup's last look is not in them",
        "whoever erased herself after the backup was taken is in it again: erase them once more where you know them",
    ]
    answer(found, lines, as_json)


@store.adds()
def check(database: Database = "recveil.sqlite", as_json: Json = False) -> None:
    """Prove that a database or a backup holds together: counters, references, ledger. Exit code 3 where it does not.

    Example: recveil store check --database monday.backup
    """
    from recveil.advisor import backup as copying

    found = copying.check_database(database)
    whole = "a fault" if found["problems"] else "whole"
    answer(found, [f"{whole}: {_amounts(found)}", *found["problems"]], as_json)
    if found["problems"]:
        raise SystemExit(3)


def _amounts(found: dict[str, Any]) -> str:
    return f"{found['people']:,} people, {found['items']:,} items, {found['clicks']:,} clicks"
