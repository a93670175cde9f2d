"""recveil desk [DATA]: from a file to a signed bundle, in a browser on this machine."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Json, answer, say
from recveil.errors import RecveilError
from recveil.options import Argument, Option

if TYPE_CHECKING:
    from recveil.desk.pages.app import DeskServer
    from recveil.desk.project.folder import Project

ADDRESS = "127.0.0.1"


def desk(
    data: Annotated[
        str | None, Argument(metavar="DATA", help="A file, or sample:films; it can be chosen on the page, too.")
    ] = None,
    project: Annotated[str, Option(metavar="FOLDER", help="Where choices and results are kept.")] = "desk",
    port: Annotated[int, Option(min=0, max=65535, help="0: any free one.")] = 0,
    as_: Annotated[
        str, Option("--as", metavar="ROLE", help="officer: her door to the same folder, or to a dossier.")
    ] = "owner",
    key: Annotated[str, Option(metavar="KEY", help="The officer's own key: a file, agent: or pkcs11:.")] = "",
    trust: Annotated[str, Option(metavar="FILE", help="Whose key counts; else trust.toml in FOLDER.")] = "",
    no_browser: Annotated[bool, Option("--no-browser", help="Print the address and open nothing.")] = False,
    memory: Annotated[
        float | None,
        Option(min=0.1, metavar="GB", help="That one piece of work may take; else most of what is free."),
    ] = None,
    as_json: Json = False,
) -> None:
    """The release desk in a browser: assess, protect, attack, compare, sign and publish, on this machine alone.

    Every choice is in FOLDER/desk.toml, which `recveil run` takes too. Closing the page, or the desk, loses nothing.

    The officer has a door of her own: she reads the sheet, signs with her key, and can change nothing else.

    Example: recveil desk ratings.csv --project ratings-desk
    Example: recveil desk --project ratings-desk --as officer --key ~/dpo.key
    """
    if as_ != "owner":
        _officer(data, project, port, no_browser, (as_, key, trust), as_json)
        return
    from recveil.desk.pages.app import DeskServer, create_app
    from recveil.desk.pages.desk_state import DeskState
    from recveil.desk.pages.guard import Keys
    from recveil.desk.project.folder import address_of, keep_address, open_project
    from recveil.desk.project.worker_pool import free_memory

    opened = open_project(project)
    before, secret = address_of(opened)
    with _listen_again(port, before) as listening:
        keys = Keys(listening.getsockname()[1], secret)
        most = int(memory * 1e9) if memory else free_memory()
        desk_state = DeskState(opened, most, lambda one: keep_address(one, keys.port, secret))
        desk_state.workers.prepare()
        if data:
            _take(opened, data)
            desk_state.start("overview")
        server = DeskServer(desk_state, create_app(desk_state, keys))
        _serve(server, listening, keys.address, str(opened.folder), no_browser, as_json)
        say(f"everything is in {opened.folder}; recveil desk --project {project} goes on")


def _serve(
    server: DeskServer, listening: socket.socket, address: str, folder: str, no_browser: bool, as_json: bool
) -> None:
    listening.listen(128)
    answer({"url": address, "project": folder}, [f"open {address}   (Ctrl-C stops; the address works once)"], as_json)
    sys.stdout.flush()
    if not no_browser:
        _open(address)
    with suppress(KeyboardInterrupt):  # Ctrl-C is how a desk ends
        server.run(sockets=[listening])


def _officer(
    data: str | None, project: str, port: int, no_browser: bool, who: tuple[str, str, str], as_json: bool
) -> None:
    """The officer's door: to the owner's folder, or to a dossier, which is unpacked into FOLDER first."""
    from pathlib import Path

    from recveil.desk.pages.app import DeskServer
    from recveil.desk.pages.guard import Keys
    from recveil.desk.pages.officer import OfficerState, officer_app
    from recveil.desk.project.officer import OfficersCase
    from recveil.errors import unknown
    from recveil.governance.dossier import unpack

    role, key, trust = who
    if role != "officer":
        raise unknown("--as", role, ("owner", "officer"))
    if not key:
        raise RecveilError("an officer signs with a key of her own: --key FILE, agent: or pkcs11:...")
    if data:
        unpack(data, project)
    case = OfficersCase(Path(project).absolute(), key, trust)
    case.trust()
    case.now()
    with _listen(port) as listening:
        keys = Keys(listening.getsockname()[1])
        state = OfficerState(case)
        _serve(DeskServer(state, officer_app(state, keys)), listening, keys.address, project, no_browser, as_json)


def _take(project: Project, data: str) -> None:
    """DATA as the data of the project; its columns are chosen anew where it is another file."""
    stored = project.stored(data)
    if project.read()[0].data.source != stored:
        project.change({"data": {"source": stored, "columns": {}, "types": {}}})


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        say("no browser was found: open the address above")


def _listen_again(port: int, before: int) -> socket.socket:
    """The port that is asked for, else the one that this folder had before, else any."""
    if not port and before:
        with suppress(RecveilError):
            return _listen(before)
    return _listen(port)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
    except OSError as error:
        listening.close()
        raise RecveilError(f"cannot listen on {ADDRESS} port {port}: {error.strerror or error}") from None
    return listening
