"""recveil release DATA --with SPEC -o DIR: make a bundle."""

from typing import Annotated, Any

from recveil.cli.arguments import (
    Columns,
    CountedSize,
    Data,
    DeclaredSize,
    Duplicates,
    EngineName,
    FoldTags,
    ItemsArePublic,
    ItemsFile,
    Json,
    Master,
    Memory,
    OutsideBudget,
    SchemaFile,
    ScratchFolder,
    Seed,
    Types,
    answer,
    one_file,
    say,
    terminal,
)
from recveil.cli.keys import passphrase
from recveil.errors import RecveilError
from recveil.options import Option


def release(
    data: Data,
    with_: Annotated[
        list[str], Option("--with", metavar="SPEC", help="One mechanism, such as random-ratings:values=uniform.")
    ],
    out: Annotated[str, Option("-o", "--out", metavar="DIR", help="Where the bundle goes.")],
    columns: Columns = None,
    schema: SchemaFile = None,
    types: Types = None,
    duplicates: Duplicates = "last",
    fold_tags: FoldTags = False,
    format: Annotated[str, Option(help="Of the data file: parquet, csv, inter, itemsets.")] = "parquet",
    time: Annotated[str, Option(help="drop, order, keep, or auto: the order of clicks alone.")] = "auto",
    holdout: Annotated[float, Option(help="A share of people to keep out, into --holdout-file.")] = 0.0,
    holdout_file: Annotated[
        str | None, Option(metavar="FILE", help="Where they go, .parquet, readable by you alone.")
    ] = None,
    items: ItemsFile = None,
    catalogue_is_public: ItemsArePublic = False,
    publish_titles: Annotated[
        bool, Option("--publish-titles", help="Let the titles of the items travel in the bundle.")
    ] = False,
    scale: Annotated[
        str | None, Option(metavar="LEVELS", help="The public scale of ratings: 1,2,3,4,5 or 0.5..5/0.5.")
    ] = None,
    attributes: Annotated[
        str | None, Option(metavar="FILE", help="What people are, for blur: user and other columns.")
    ] = None,
    keep_map: Annotated[str | None, Option(metavar="FILE", help="Write the private id map there.")] = None,
    keep_statistics: Annotated[
        str | None,
        Option(metavar="FILE", help="Write the noisy statistics there; DATA may be such a FILE later."),
    ] = None,
    size: DeclaredSize = None,
    count: CountedSize = None,
    go_on: Annotated[
        bool, Option("--go-on", help="Release although the forecast says that next to nothing is kept.")
    ] = False,
    ledger: Annotated[
        str | None, Option(metavar="FILE", help="Add what is spent to this file, and say the total.")
    ] = None,
    outside_budget: OutsideBudget = False,
    chosen_on_data: Annotated[
        bool, Option("--chosen-on-data", help="Say that figures computed on DATA were looked at before.")
    ] = False,
    licence: Annotated[
        str | None, Option(metavar="NAME", help="What recipients may do with it, such as CC-BY-4.0.")
    ] = None,
    sign: Annotated[str | None, Option(metavar="KEY", help="Sign the bundle with this key.")] = None,
    force: Annotated[bool, Option("--force", help="Replace an existing bundle.")] = False,
    engine: EngineName = "local",
    master: Master = None,
    memory: Memory = None,
    scratch: ScratchFolder = None,
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """Protect DATA with a mechanism and write a bundle that says what it promises.

    Example: recveil release ratings.csv --with pseudonymise -o out
    """
    if len(with_) > 1:
        raise RecveilError(f"--with was given {len(with_)} times; a release is made by one mechanism")
    spec = with_[0]
    if scale:
        spec = f"{spec}{',' if ':' in spec else ':'}scale=({scale})"
    from recveil.actions.engine import Engine
    from recveil.actions.publish import ReleaseRequest, run_release
    from recveil.mechanisms.spec import completed, text
    from recveil.releases.forecast import parse_size
    from recveil.releases.inputs import Input

    numbers = parse_size(size) if size else None
    if numbers and "delta=" not in spec and "delta=" in (filled := text(completed(spec, numbers.people))):
        say(f"delta is one tenth of one over the declared number of people: {filled}")
        spec = filled
    publication = _publication(licence, sign)  # a key that does not open is known before anything is spent
    request = ReleaseRequest(
        Input(data, columns, duplicates, fold_tags, types, schema=schema),
        spec,
        out,
        format=format,
        time=time,
        holdout=holdout,
        holdout_file=holdout_file,
        catalogue=one_file(items),
        catalogue_is_public=catalogue_is_public,
        publish_titles=publish_titles,
        attributes=attributes,
        keep_map=keep_map,
        keep_statistics=keep_statistics,
        size=numbers,
        count=count,
        go_on=go_on,
        ledger=ledger,
        outside_budget=outside_budget,
        chosen_on_data=chosen_on_data,
        licence=publication["licence"],
        key=publication["sign"],
        force=force,
        engine=Engine(engine, master, memory, scratch),
        seed=seed,
    )
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


def _publication(licence: str | None, sign: str | None) -> dict[str, Any]:
    from recveil.releases.keys import load_key
    from recveil.releases.licences import licence as named

    return {"licence": named(licence) if licence else None, "sign": load_key(sign, passphrase) if sign else None}
