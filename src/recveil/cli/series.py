"""recveil series: the windows of a growing log, released one after the other under one budget."""

from datetime import date
from typing import Annotated, Any

from recveil.cli.arguments import (
    Columns,
    Data,
    Duplicates,
    ItemsArePublic,
    ItemsFile,
    Json,
    SchemaFile,
    Seed,
    Trust,
    Types,
    answer,
    say,
    terminal,
)
from recveil.cli.commands import Group
from recveil.cli.keys import signer_of
from recveil.errors import RecveilError
from recveil.options import Argument, Option

NOTHING_TO_DO = 4  # the exit code of a release that finds no window to release
series = Group("series", "Release a growing log window by window, under one budget.")
SeriesFolder = Annotated[str, Argument(metavar="SERIES", help="The folder that series new made.")]
Start = Annotated[str | None, Option(metavar="DATE", help="The first day of the first window; else today.")]


@series.adds()
def new(
    out: Annotated[str, Argument(metavar="SERIES", help="A new folder, for you alone.")],
    epsilon: Annotated[float, Option(help="What all windows of a period may spend on one person.")],
    delta: Annotated[float, Option(help="The same.")],
    participations: Annotated[int, Option(metavar="P", help="Windows in which one person counts, at most.")],
    with_: Annotated[str, Option("--with", metavar="SPEC", help="The mechanism, such as dp-streams.")],
    ledger: Annotated[str, Option(metavar="FILE", help="The ledger of these people.")],
    period: Annotated[str, Option(help="How long the budget is for: week, month, quarter, year.")] = "year",
    window: Annotated[str, Option(help="day, week or month.")] = "week",
    start: Start = None,
    items: ItemsFile = None,
    catalogue_is_public: ItemsArePublic = False,
    publish_titles: Annotated[
        bool, Option("--publish-titles", help="Let the titles of the items travel in the bundles.")
    ] = False,
    unit: Annotated[str, Option(help="Whom the promise is about: user, or session.")] = "user",
    late: Annotated[
        str, Option(metavar="RULE", help="Events of a window that has left: drop, or open: count them now.")
    ] = "drop",
    carry: Annotated[
        bool, Option("--carry/--no-carry", help="Combine each window with what earlier ones published.")
    ] = True,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Settle a series, and enter the promise of its first period in the ledger. Nothing is read or released.

    Example: recveil series new shop --epsilon 4 --delta 1e-6 --participations 26 --with dp-streams --ledger l.jsonl
    """
    from recveil.series.opening import SeriesRequest, run_new_series, window_mechanism

    request = SeriesRequest(
        out, with_, ledger, epsilon, delta, participations, period, window, _day("--start", start), items,
        catalogue_is_public, publish_titles, unit, late, carry, seed,
    )  # fmt: skip
    made = run_new_series(request)
    _answer_opened(made, window_mechanism(made), as_json)


@series.adds("next")
def next_(
    place: SeriesFolder,
    epsilon: Annotated[float | None, Option(help="Of the next period; else as before.")] = None,
    participations: Annotated[int | None, Option(metavar="P", help="The same.")] = None,
    as_json: Json = False,
) -> None:
    """Open the next period, once the last one is over: another promise in the ledger, and nobody has counted yet.

    Example: recveil series next shop.series
    """
    from recveil.series.folder import open_series
    from recveil.series.opening import next_period, window_mechanism
    from recveil.series.showing import shown

    changed: dict[str, Any] = {
        name: v for name, v in (("epsilon", epsilon), ("participations", participations)) if v is not None
    }
    lost = sum(window["status"] == "due" for window in shown(open_series(place))["windows"])
    made = next_period(place, **changed)
    if lost:
        say(f"warning: {lost} windows of the period before had not left, and never will")
    _answer_opened(made, window_mechanism(made), as_json)


@series.adds()
def release(
    place: SeriesFolder,
    data: Data,
    until: Annotated[
        str | None, Option(metavar="DATE", help="DATA are complete until this day; else until now.")
    ] = None,
    columns: Columns = None,
    schema: SchemaFile = None,
    types: Types = None,
    duplicates: Duplicates = "last",
    licence: Annotated[
        str | None, Option(metavar="NAME", help="What recipients may do with it, such as CC-BY-4.0.")
    ] = None,
    sign: Annotated[str | None, Option(metavar="KEY", help="Sign the bundles with this key.")] = None,
    as_json: Json = False,
) -> None:
    """Release every window that has ended and has not left. Exit code 4 where there is nothing to do.

    Example: recveil series release shop.series log.parquet
    """
    from recveil.releases.inputs import Input
    from recveil.releases.licences import licence as named
    from recveil.series.folder import open_series
    from recveil.series.releasing import WindowsRequest, run_windows
    from recveil.series.showing import shown

    opened = open_series(place)
    rows = Input(data, columns, duplicates, types=types, schema=schema)
    request = WindowsRequest(opened, rows, _day("--until", until), named(licence) if licence else None, signer_of(sign))
    with terminal() as progress:
        made = run_windows(request, progress)
    stands = shown(opened)
    ends = stands["next"]
    lines = [f"{left.bundle}: {left.manifest['rows']:,} rows, window {left.window.number}" for left in made]
    if made:
        lines.append(
            f"guarantee ({made[0].manifest['guarantee']['status']}): {made[0].manifest['guarantee']['sentence']}"
        )
    if not made and stands["due"]:
        lines.append(f"nothing to do: {stands['due']} windows that have ended wait for a later --until")
    elif not made:
        lines.append(
            "nothing to do: no window has ended that has not left" + (f"; the next ends on {ends}" if ends else "")
        )
    found = {"released": [{"bundle": left.bundle, "manifest": left.manifest} for left in made], "next": ends}
    answer(found, lines, as_json)
    if not made:
        raise SystemExit(NOTHING_TO_DO)


@series.adds()
def show(place: SeriesFolder, as_json: Json = False) -> None:
    """The windows of the period, what is spent, what each window kept, a picture, and when the next one ends.

    Example: recveil series show shop.series --json
    """
    from recveil.series.folder import open_series
    from recveil.series.showing import lines, shown

    found = shown(open_series(place))
    answer(found, lines(found), as_json)


@series.adds()
def verify(
    place: Annotated[str, Argument(metavar="DIR", help="A series, or a folder of its bundles.")],
    trust: Trust = None,
    as_json: Json = False,
) -> None:
    """Prove that bundles are windows of one series, and that together they keep its promise. Exit code 3 where not.

    Example: recveil series verify shop.series
    """
    from recveil.governance.trust import read_trust
    from recveil.governance.verification import signed_window
    from recveil.series.verifying import verify_series

    found = verify_series(place, signed_window(read_trust(trust) if trust else None))
    answer(found.record(), found.lines(), as_json)
    if found.problems:
        raise SystemExit(3)


@series.adds()
def forget(
    place: SeriesFolder,
    user: Annotated[list[str], Option("--user", metavar="ID", help="Who left; as often as there are.")],
    as_json: Json = False,
) -> None:
    """Erase people from the private state: they count in no further window of the period, and what is spent stays so.

    Example: recveil series forget shop.series --user 4711
    """
    from recveil.series.erasing import forget as run
    from recveil.series.folder import open_series

    run(open_series(place), user)
    answer({"series": place, "forgotten": len(user)}, [f"{place}: they count in no further window"], as_json)


def _answer_opened(made: Any, mechanism: Any, as_json: bool) -> None:
    from recveil.mechanisms.spec import text
    from recveil.series.showing import lines, shown

    found = shown(made)
    if made.facts.carry and not made.carries:
        why = f"of {mechanism.name}" if made.facts.items else "without a public list of items"
        say(f"{why} every window stands for itself: nothing is carried over")
    say(f"each window is made by {text(mechanism)}")
    answer(found, lines(found)[:2], as_json)


def _day(option: str, given: str | None) -> date | None:
    try:
        return date.fromisoformat(given) if given else None
    except ValueError:
        raise RecveilError(f"{option} is a day such as 2027-01-04, not {given!r}") from None
