"""recveil dossier: what goes to the officer as one file, and what comes back."""

from __future__ import annotations

from typing import Annotated

from recveil.cli.arguments import Json, answer
from recveil.cli.commands import Group
from recveil.options import Argument, Option

dossier = Group("dossier", "Hand a bundle to the officer as one file, and take her answer back.")


@dossier.adds()
def pack(
    bundle: Annotated[str, Argument(metavar="BUNDLE", help="A bundle with a sheet (recveil decide).")],
    out: Annotated[str, Option("-o", "--out", metavar="FILE", help="The dossier, .zip.")],
    answered: Annotated[bool, Option("--answer", help="Her answer: claims and evidence, without data.")] = False,
    ledger: Annotated[str | None, Option(metavar="FILE", help="Earlier releases about the same people.")] = None,
    as_json: Json = False,
) -> None:
    """Put a bundle, its sheet and its evidence into one file; it is for the officer, not for publication.

    Example: recveil dossier pack out -o for-officer.zip
    """
    from recveil.formats.files import check_writable
    from recveil.governance import dossier as files

    check_writable(out, (".zip",))
    files.pack(bundle, out, data=not answered, ledger=ledger)
    answer(
        {"dossier": out}, [f"{out}: figures in it were computed on private data; give it to the officer alone"], as_json
    )


@dossier.adds("open")
def open_(
    file: Annotated[str, Argument(metavar="FILE", help="A dossier.")],
    out: Annotated[str, Option("-o", "--out", metavar="FOLDER", help="A new folder for it.")],
    as_json: Json = False,
) -> None:
    """Unpack a dossier: FOLDER/bundle is what is decided on, FOLDER/bundle.owner/decision.html the sheet.

    Example: recveil dossier open for-officer.zip -o case
    """
    from recveil.governance import dossier as files

    bundle, context = files.unpack(file, out)
    lines = [f"{bundle}: to be decided on, for {context.recipient.title}", f"the sheet: {bundle}.owner/decision.html"]
    answer({"bundle": str(bundle), "recipient": context.recipient.name}, lines, as_json)


@dossier.adds()
def take(
    file: Annotated[str, Argument(metavar="FILE", help="The officer's answer.")],
    bundle: Annotated[str, Argument(metavar="BUNDLE", help="The bundle that it is about.")],
    as_json: Json = False,
) -> None:
    """Add what the officer decided to a bundle's claims; nothing that stood there is changed.

    Example: recveil dossier take answer.zip out
    """
    from recveil.governance import dossier as files

    said = files.take_back(bundle, file)
    answer({"bundle": bundle, "added": said}, said, as_json)
