"""recveil audit SPEC: an empirical lower bound on epsilon against the claim."""

from __future__ import annotations

from typing import Annotated

import typer

from recveil.cli.arguments import Json, Seed, answer, progress, read_data


def audit(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A mechanism, such as dp-streams:epsilon=1,delta=1e-6.")],
    data: Annotated[str | None, typer.Option(metavar="DATA", help="Data to put the canary into; else a toy.")] = None,
    columns: Annotated[str | None, typer.Option(metavar="ROLE=NAME,...", help="Such as user=uid,item=movie.")] = None,
    runs: Annotated[int, typer.Option(help="Releases of each of the two neighbouring data sets.")] = 1000,
    confidence: Annotated[float, typer.Option(help="Of the bound.")] = 0.95,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Release data with and without a canary many times, and bound epsilon from below by what gives it away.

    Exit code 3 where the bound exceeds a proved claim. A bound below the claim proves nothing.

    Example: recveil audit dp-streams:epsilon=1,delta=1e-6 --runs 500
    """
    from recveil.desk.audit import audit as judge
    from recveil.mechanisms.spec import parse

    mechanism = parse(spec)
    rows = read_data(data, columns) if data else None
    with progress("audit", 2 * runs) as tick:
        found = judge(mechanism, rows, runs=runs, confidence=confidence, seed=seed, tick=tick)
    record = found.record()
    claim = "no epsilon" if record["claimed"] is None else f"epsilon {record['claimed']:g} ({record['status']})"
    lines = [
        f"{record['mechanism']} claims {claim}; epsilon is at least {record['lower']:.3f} "
        f"with {confidence:.1%} confidence, after {runs} releases of each of two data sets",
        f"the event that says so: {record['event']}",
        f"verdict: {record['verdict']}",
    ]
    answer(record, lines, as_json)
    if record["verdict"] == "broken":
        raise typer.Exit(3)
