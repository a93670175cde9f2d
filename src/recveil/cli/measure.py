"""recveil measure DATA BUNDLE: what does a release give away, and what is it worth?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli.arguments import Columns, Data, Engine, FoldTags, Json, Master, Seed, answer, progress, read_data, say
from recveil.cli.keys import passphrase
from recveil.errors import RecveilError, unknown

if TYPE_CHECKING:
    from recveil.desk.measure import Findings
    from recveil.desk.places import Place
    from recveil.desk.signing import Signer


def measure(
    data: Data,
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="A release of DATA, as recveil release writes it.")],
    columns: Columns = None,
    id_map: Annotated[
        str | None, typer.Option("--map", metavar="FILE", help="Which record is whose, from --keep-map: for scoring.")
    ] = None,
    holdout: Annotated[
        str | None, typer.Option("--holdout", metavar="FILE", help="People of DATA who are not in the release.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="NAMES", help="Such as linkage,membership; else all.")
    ] = None,
    known: Annotated[
        str | None, typer.Option("--known", metavar="R,...", help="How many items the linkage attacker knows: 2,4,8.")
    ] = None,
    items: Annotated[str, typer.Option("--items", help="Which ones: random, rare, consecutive.")] = "random",
    ratings: Annotated[
        bool | None, typer.Option("--ratings/--no-ratings", help="With their ratings, or without; else both.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep what is found in the owner's folder, for recveil decide.")
    ] = False,
    sign: Annotated[str | None, typer.Option(metavar="KEY", help="Keep it, signed with this key.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="DIR", help="The owner's folder; else BUNDLE.owner.")] = None,
    fold_tags: FoldTags = False,
    engine: Engine = "local",
    master: Master = None,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Attack a bundle from files alone and report what comes out, with intervals, controls and chance.

    The riskiest people are named by their ids in DATA: the answer is for the owner, not for publication.

    Example: recveil measure ratings.csv out --map map.csv --holdout out.holdout.parquet
    """
    levels = numbers(known) if known else None
    import secrets

    from recveil.desk.bundle import load
    from recveil.desk.measure import measure_release, read_map, select
    from recveil.desk.signing import load_key
    from recveil.spark.lake import of_this_machine

    names = [name.strip() for name in only.split(",") if name.strip()] if only else None
    if engine not in ("local", "spark"):
        raise unknown("--engine", engine, ("local", "spark"))
    if engine == "spark":
        if fold_tags:
            raise RecveilError("--fold-tags is for --engine local")
        wishes: dict[str, Any] = {"known": levels, "ratings": ratings, "items": items}
        chosen = secrets.randbits(63) if seed is None else seed
        keeping = Keeping(keep or bool(sign), load_key(sign, passphrase) if sign else None, owner)
        mechanism, found = _on_spark(data, columns, master, bundle, id_map, holdout, names, chosen, wishes, keeping)
        answer({"bundle": bundle, "mechanism": mechanism, **found.record()}, _lines(found), as_json)
        return
    of_this_machine(bundle)
    keeping = Keeping(keep or bool(sign), load_key(sign, passphrase) if sign else None, owner)
    measures = select(names, known=levels, items=items, ratings=ratings)
    rows = read_data(data, columns, fold_tags)
    release = load(bundle)
    with progress("measuring", len(measures)) as tick:
        found = measure_release(
            rows,
            release.data,
            holdout=read_data(holdout, fold_tags=fold_tags) if holdout else None,
            id_map=read_map(id_map) if id_map else None,
            measures=measures,
            seed=secrets.randbits(63) if seed is None else seed,
            mechanism=release.manifest["spec"],
            strict=names is not None,
            tick=tick,
        )
    keeping.put(bundle, found)
    answer({"bundle": bundle, "mechanism": release.manifest["spec"], **found.record()}, _lines(found), as_json)


@dataclass(frozen=True)
class Keeping:
    """Whether what is found is kept in the owner's folder, and by whom it is signed."""

    wanted: bool
    signer: Signer | None
    folder: str | None

    def put(self, bundle: str | Place, found: Findings) -> None:
        from recveil.desk.owner import keep_measurements, owner_folder

        if self.wanted:
            folder = owner_folder(bundle, self.folder)
            keep_measurements(bundle, found, folder, self.signer)
            say(f"kept in {folder}, which stays with the owner; what may be published is {bundle} alone")


def _on_spark(
    data: str,
    columns: str | None,
    master: str | None,
    bundle: str,
    id_map: str | None,
    holdout: str | None,
    names: list[str] | None,
    seed: int,
    wishes: dict[str, Any],
    keeping: Keeping,
) -> tuple[str, Findings]:
    from recveil.desk.bundle import verify
    from recveil.spark.lake import place
    from recveil.spark.measure import MEASURED, measure_table
    from recveil.spark.reading import here, read_bundle, read_table
    from recveil.spark.session import session

    for name in names or ():
        if name not in MEASURED:
            raise RecveilError(f"{name} is measured by the local engine; on Spark: {', '.join(MEASURED)}")
    with session(master) as spark:
        where = place(spark, bundle)
        manifest = verify(where)
        rows, released = read_table(spark, data, columns, "all"), read_bundle(spark, where, manifest)
        people = spark.read.csv(here(id_map), header=True) if id_map else None
        held = read_table(spark, holdout, None, "all") if holdout else None
        found = measure_table(rows, released, people, names, seed, manifest["spec"], wishes, held)
        keeping.put(where, found)
    return manifest["spec"], found


def numbers(text: str) -> list[int]:
    """Whole numbers separated by commas."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise RecveilError(f"--known takes whole numbers such as 2,4,8, not {text!r}") from None


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Measurements as lines for people."""
    names = [" ".join([row["name"], *(f"{k}={_plain(v)}" for k, v in row["params"].items())]) for row in rows]
    width = max(map(len, names), default=7)
    lines = [f"{'measure':<{width}} {'value':>7}  {'95% interval':<16} {'control':>7} {'chance':>7} {'n':>6}"]
    for name, row in zip(names, rows, strict=True):
        control = "" if row["control"] is None else f"{row['control']:.4f}"
        chance = "" if row["chance"] is None else f"{row['chance']:.4f}"
        lines.append(
            f"{name:<{width}} {row['value']:>7.4f}  [{row['low']:.4f}, {row['high']:.4f}] "
            f"{control:>7} {chance:>7} {row['n']:>6}" + ("  no better than chance" if _nothing(row) else "")
        )
    return lines


def _lines(found: Findings) -> list[str]:
    record = found.record()
    lines = table(record["measurements"])
    lines += [f"left out: {gap['name']} ({gap['why']})" for gap in record["left_out"]]
    if record["riskiest"]:
        named = ", ".join(f"{r['user']} ({r['success']:.0%})" for r in record["riskiest"])
        lines.append(
            f"found most surely by {record['riskiest'][0]['known']} random items (not for publication): {named}"
        )
    return lines


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _nothing(row: dict[str, Any]) -> bool:
    return "no better than chance" in row["note"]
