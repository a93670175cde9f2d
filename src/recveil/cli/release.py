"""recveil release DATA --with SPEC -o DIR: make a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli.arguments import (
    Columns,
    Data,
    Duplicates,
    EngineName,
    FoldTags,
    Json,
    Master,
    OutsideBudget,
    Seed,
    Types,
    answer,
    progress,
    say,
)
from recveil.cli.keys import passphrase
from recveil.errors import RecveilError, unknown

if TYPE_CHECKING:
    from recveil.mechanism import Mechanism
    from recveil.spark.release import Made

_CHOICES = {
    "format": ("parquet", "csv", "inter", "itemsets"),
    "time": ("auto", "drop", "order", "keep"),
    "engine": ("local", "spark"),
}


def release(
    data: Data,
    with_: Annotated[str, typer.Option("--with", metavar="SPEC", help="Such as random-ratings:values=uniform.")],
    out: Annotated[str, typer.Option("-o", "--out", metavar="DIR", help="Where the bundle goes.")],
    columns: Columns = None,
    types: Types = None,
    duplicates: Duplicates = "last",
    fold_tags: FoldTags = False,
    format: Annotated[str, typer.Option(help="Of the data file: parquet, csv, inter, itemsets.")] = "parquet",
    time: Annotated[str, typer.Option(help="drop, order, keep, or auto: the order of clicks alone.")] = "auto",
    holdout: Annotated[
        float, typer.Option(help="A share of people to keep out; written to DIR.holdout.parquet.")
    ] = 0.0,
    catalogue: Annotated[
        str | None, typer.Option(metavar="FILE", help="The public item ids, one a line; or a parquet: item, tag, user.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LEVELS", help="The public scale of ratings: 1,2,3,4,5 or 0.5..5/0.5.")
    ] = None,
    keep_map: Annotated[str | None, typer.Option(metavar="FILE", help="Write the private id map there.")] = None,
    keep_statistics: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the noisy statistics there; DATA may be such a FILE later."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="FILE", help="Add what is spent to this file, and say the total.")
    ] = None,
    outside_budget: OutsideBudget = False,
    licence: Annotated[
        str | None, typer.Option(metavar="NAME", help="What recipients may do with it, such as CC-BY-4.0.")
    ] = None,
    sign: Annotated[str | None, typer.Option(metavar="KEY", help="Sign the bundle with this key.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing bundle.")] = False,
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Protect DATA with a mechanism and write a bundle that says what it promises.

    Example: recveil release ratings.csv --with pseudonymise -o out
    """
    for option, value in (("format", format), ("time", time), ("engine", engine)):
        if value not in _CHOICES[option]:
            raise unknown(f"--{option}", value, _CHOICES[option])
    out = out.rstrip("/") or out  # what goes beside the bundle must not go into it
    bundle = Path(out.removeprefix("file:")).resolve()
    for what, option, file in (("private id map", "--keep-map", keep_map), ("ledger", "--ledger", ledger)):
        if file and bundle in (Path(file).resolve(), *Path(file).resolve().parents):
            raise RecveilError(f"the {what} must not lie inside the bundle; choose another FILE for {option}")
    if Path(out).exists() and not force:
        raise RecveilError(f"{out} exists already; choose another place, or replace it with --force")
    from recveil.desk.published import drawing, is_statistics, load_statistics, save_statistics, spent
    from recveil.mechanisms.spec import parse

    if scale:
        with_ = f"{with_}{',' if ':' in with_ else ':'}scale=({scale})"
    again = drawing(load_statistics(data), with_) if is_statistics(data) else None
    mechanism = again.mechanism if again else parse(with_)
    from recveil.mechanism import Synthesis

    draws = isinstance(mechanism, Synthesis)
    if keep_map and isinstance(mechanism, Synthesis) and not mechanism.knows_users:
        raise RecveilError(f"{mechanism.name} draws new people, so there is no id map to keep")
    if keep_statistics and not draws:
        raise RecveilError(f"{mechanism.name} masks rows and publishes no statistics that could be kept")
    from recveil.desk import ledger as book
    from recveil.desk.bundle import save, save_map
    from recveil.desk.cache import fingerprint
    from recveil.desk.catalogue import read_catalogue
    from recveil.desk.inputs import Input
    from recveil.desk.release import draw, is_proved
    from recveil.desk.release import release as protect
    from recveil.formats import write
    from recveil.randomness import source
    from recveil.spark.lake import check_local_place
    from recveil.splits import hold_out

    publication = _publication(licence, sign)  # a key that does not open is known before anything is spent
    if ledger:
        book.read(ledger)  # what cannot be kept is refused before anything is spent
    seen: list[str] = []  # the fingerprint of the data, once they are read
    enter = book.into(ledger, outside=outside_budget, note=lambda: seen[0] if seen else None) if ledger else None
    on_spark = engine == "spark" and not again
    if not on_spark:
        check_local_place(out)
    held = None
    public = read_catalogue(catalogue) if catalogue else None
    made: Any
    if again:
        made = draw(again, seed=seed, time=time)  # type: ignore[arg-type]
    elif on_spark:
        if format != "parquet" or fold_tags:
            what = "--fold-tags" if fold_tags else f"--format {format}"
            raise RecveilError(f"{what} is for --engine local; on Spark rows go as they are into parquet files")
        wishes: dict[str, Any] = {"seed": seed, "time": time, "catalogue": public, "force": force, "enter": enter}
        wishes |= {"keep_map": bool(keep_map), "seen": seen, **publication}
        made = _on_spark(data, (columns, duplicates, types), master, mechanism, out, holdout, wishes)
    else:
        # What looks at the data outside a proof must not tell of it: no refusal, no count of what was left out.
        broken: Any = "drop" if is_proved(mechanism) else "refuse"
        rows = [Input(data, columns, duplicates, fold_tags, types, broken).rows()]
        if holdout:
            everyone = rows.pop()
            kept, held = hold_out(everyone, holdout, source(seed).derive("holdout").names(everyone.users.to_list()))
            rows.append(kept)
            del everyone, kept
        if ledger:
            seen.append(fingerprint(rows[0]))
        with progress(mechanism.name, 2 * len(rows[0])) as tick:  # handed over: a large log stands in memory once
            options: dict[str, Any] = {"seed": seed, "time": time, "catalogue": public, "tick": tick, "enter": enter}
            options["everyone"] = True
            made = protect(rows.pop(), mechanism, **options)
    manifest = made.manifest if on_spark else save(made, out, format=format, force=force, **publication)  # type: ignore[arg-type]
    if held is not None:
        write(held, f"{out}.holdout.parquet", format="parquet", private=True)
    if holdout and not again:
        say(f"{holdout:.0%} of the people were kept out, in {out}.holdout.parquet, which is not for publication")
    if keep_map and made.id_map is not None:
        save_map(made.id_map, keep_map)
        say(f"the private id map is in {keep_map}; keep it to yourself")
    if keep_statistics and made.published is not None:
        save_statistics(made.published, keep_statistics)
        say(f"the noisy statistics are in {keep_statistics}")
    if made.published and not again:
        say(spent(made.published))
    for line in book.summary(ledger) if ledger else []:
        say(line)
    promise = manifest["guarantee"]
    if "observed" in (promise["given"] or ""):
        say(f"taken to be public: {promise['given']}; if it is not, give the true lists with --catalogue")
    if promise["status"] != "refuted" and promise["unit"] in ("record", "tag"):
        say("a person with k rows is protected with k times that epsilon; `recveil inspect` says how many people have")
    lines = [
        f"{out}: {manifest['rows']:,} rows of {manifest['users']:,} {manifest['unit']}s by {manifest['spec']}",
        f"guarantee ({promise['status']}): {promise['sentence']}",
    ]
    if promise["little"]:
        lines.insert(0, f"this promise means little: {promise['little']}")
    if manifest["seeded"]:
        lines.append("made with a seed: an experiment, not for publication")
    answer({"bundle": out, "manifest": manifest}, lines, as_json)


def _publication(licence: str | None, sign: str | None) -> dict[str, Any]:
    from recveil.desk.licences import licence as named
    from recveil.desk.signing import load_key

    return {"licence": named(licence) if licence else None, "sign": load_key(sign, passphrase) if sign else None}


def _on_spark(
    data: str,
    reading: tuple[str | None, str, str | None],
    master: str | None,
    mechanism: Mechanism,
    out: str,
    holdout: float,
    wishes: dict[str, Any],
) -> Made:
    from recveil.desk.bundle import check_writable
    from recveil.desk.places import check_vacant, whole
    from recveil.desk.release import is_proved
    from recveil.randomness import source
    from recveil.spark.holdout import held_out
    from recveil.spark.lake import place, write_parts
    from recveil.spark.reading import read_table, table_fingerprint
    from recveil.spark.release import check_runs, release_table
    from recveil.spark.session import session

    check_runs(mechanism)  # before anything is started
    with session(master) as spark:
        where, aside = place(spark, out), place(spark, f"{out}.holdout.parquet")
        check_writable(where, wishes["force"])  # before anything is read
        if holdout and not wishes["force"]:
            check_vacant(aside)
        rows = read_table(spark, data, *reading, "drop" if is_proved(mechanism) else "refuse")
        seen = wishes.pop("seen")
        if wishes["enter"]:
            seen.append(table_fingerprint(rows))
        if not holdout:
            return release_table(rows, mechanism, where, **wishes)
        chance = source(wishes["seed"]).derive("holdout")
        with held_out(rows, holdout, chance) as (kept, held), whole(aside) as part:  # there with the bundle, or not
            part.close_to_others()
            write_parts(held, part)
            return release_table(kept, mechanism, where, **wishes)
