"""recveil release DATA --with SPEC -o DIR: make a bundle."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Json, answer, say, terminal
from recveil.cli.keys import signer_of
from recveil.options import Option, Request

if TYPE_CHECKING:
    from recveil.actions.publish import ReleaseRequest


def release(
    request: Annotated["ReleaseRequest", Request("recveil.actions.publish")],
    scale: Annotated[
        str | None, Option(metavar="LEVELS", help="The public scale of ratings: 1,2,3,4,5 or 0.5..5/0.5.")
    ] = None,
    sign: Annotated[str | None, Option(metavar="KEY", help="Sign the bundle with this key.")] = None,
    as_json: Json = False,
) -> None:
    """Protect DATA with a mechanism and write a bundle that says what it promises.

    Example: recveil release ratings.csv --with pseudonymise -o out
    """
    from recveil.actions.publish import run_release
    from recveil.mechanisms.spec import completed, text
    from recveil.releases.licences import licence

    spec = str(request.mechanism)
    if scale:
        spec = f"{spec}{',' if ':' in spec else ':'}scale=({scale})"
    if request.size and "delta=" not in spec and "delta=" in (filled := text(completed(spec, request.size.people))):
        say(f"delta is one tenth of one over the declared number of people: {filled}")
        spec = filled
    named = licence(request.licence) if request.licence else None
    key = signer_of(sign)  # one that does not open is known before anything is spent
    request = replace(request, mechanism=spec, licence=named, key=key)
    with terminal() as progress:
        made = run_release(request, progress)
    from recveil.report.words import counted

    manifest, promise = made.manifest, made.manifest["guarantee"]
    lines = [
        f"{made.out}: {counted(manifest['rows'], 'rows', 'row')} of "
        f"{counted(manifest['users'], manifest['unit'] + 's', manifest['unit'])} by {manifest['spec']}",
        f"guarantee ({promise['status']}): {promise['sentence']}",
    ]
    if promise["status"] == "proved":
        from recveil.guarantee import CHOSEN_ON_DATA

        lines.append(CHOSEN_ON_DATA[manifest["chosen_on_data"]])
    if promise["weakness"]:
        lines.insert(0, f"this promise means little: {promise['weakness']}")
    if manifest["seeded"]:
        lines.append("made with a seed: an experiment, not for publication")
    answer({"bundle": made.out, "manifest": manifest}, lines, as_json)
