"""The instrument of non-interference: every proved mechanism through every door, and all that leaves the house.

Noise is held fixed where it is added (`publish` of a Synthesis, the randomised answer of a Masking), so that whatever
differs between two neighbouring files was read outside the budget. A mechanism is covered by being in the catalogue,
a door by a line in DOORS, a form by one in FILES or FRAMES (oddities.py).
"""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import blind
import numpy as np
import polars as pl
import pytest
from neighbours import ITEMS, TAGS
from odd_forms import ALL, MORE, PARTS, schema_of
from oddities import FILES, FRAMES, HER, MARK, NEW_ITEMS, ODDITIES, POSITIONS, Row, base_of, covered, neighbour, unit_of
from test_contracts import mechanism

import recveil
from recveil.api.owners_screen import DataWarning
from recveil.court.founding import _sized
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism, PublicInfo, Synthesis
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.spec import parse, text
from recveil.randomness import Source
from recveil.releases.disk import ROW_BYTES

# Strong enough for the little world that every mechanism publishes something; with all that a proof may protect.
SPECS = {
    "dp-streams": ["dp-streams:epsilon=90,delta=0.01,k=40"],
    "dp-tags": ["dp-tags:epsilon=60", "dp-tags:epsilon=90,delta=0.01,unit=user"],
    "dp-post-tags": ["dp-post-tags:epsilon=4"],
    "mask": ["mask:p=0.8"],
}
PROVED = [
    spec for name in sorted(MECHANISMS) for spec in SPECS.get(name, [text(mechanism(name))]) if parse(spec).is_proved
]


@dataclass(frozen=True)
class Outcome:
    """All that leaves the house; `screen`, the owner's own, is only searched for her values."""

    code: int
    said: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    screen: str = field(default="", compare=False)


class House:
    """Commands and functions in this process, with no chance in them but what the first run published.

    `spark`: a session that runs, for the doors that need one.
    """

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], spark: Any = None
    ) -> None:
        self.folder, self.monkeypatch, self.capfd, self.spark, self.runs = folder, monkeypatch, capfd, spark, 0
        monkeypatch.setattr("recveil.randomness.entropy", lambda: Source(bytes(32), seeded=False))
        self.lists = folder / "lists.parquet"
        tags = [*TAGS, *[None] * (len(ITEMS) - len(TAGS))]
        pl.DataFrame({"item": [*map(int, ITEMS)], "tag": tags}).write_parquet(self.lists)
        self.items = folder / "items.txt"  # on Spark a catalogue lists items alone
        self.items.write_text("\n".join(ITEMS))

    def hold(self, spec: str) -> None:
        """From now on the mechanism publishes what it publishes first; from the same it draws the same."""
        made = type(parse(spec))
        if not issubclass(made, Synthesis):
            if self.spark is None:
                SEAMS[made.name](self.monkeypatch)
            else:
                SENT[made.name](self.monkeypatch, self.spark)
            return
        publish, draw, kept, drawn = made.publish, made.draw, {}, []

        def held(self: Any, counts: Any, published: Any, public: Any, source: Any) -> Any:
            number = len(published), public.kind, public.sessions, public.features is None
            if number not in kept:
                kept[number] = publish(self, counts, published, public, source)
            return kept[number]

        def again(self: Any, published: Any, public: Any, source: Any) -> Any:
            key = text(self), facts(public), bytes(source.key())  # what is drawn from: nothing else reaches it
            found = next((rows for known, rows in drawn if known == key), None)
            if found is None:
                drawn.append((key, found := draw(self, published, public, source)))
            return found

        self.monkeypatch.setattr(made, "publish", held)
        self.monkeypatch.setattr(made, "draw", again)

    def place(self) -> Path:
        self.runs += 1
        here = self.folder / f"run-{self.runs}"
        here.mkdir()
        self.monkeypatch.chdir(here)
        return here

    def command(self, *arguments: object, leaves: tuple[str, ...] = ("out",)) -> Outcome:
        """A command line in the folder that is here; what lies under `leaves` goes out."""
        from recveil.cli import main

        self.monkeypatch.setattr(sys, "argv", ["recveil", *map(str, arguments)])
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = self.capfd.readouterr()
        said = [line for line in err.splitlines() if not line.startswith("warning: ")]
        return Outcome(int(stopped.value.code or 0), (out, *said), files(*leaves), out + err)

    def python(self, call: Callable[[], Any]) -> Outcome:
        """A function of the Python face; what it saves as "out" goes out, and what it raises is said."""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("error")  # a warning is no refusal, whatever a notebook does with it
            warnings.simplefilter("always", DataWarning)
            self.capfd.readouterr()
            try:
                made, code = call(), 0
            except RecveilError as why:
                made, code = str(why), 1
            said = (*self.capfd.readouterr(), *([made] if isinstance(made, str) else []))
        return Outcome(code, said, files("out"), "".join([*said, *(str(w.message) for w in heard)]))


def files(*names: str) -> dict[str, bytes]:
    found = (p for name in names for p in ([Path(name)] if Path(name).is_file() else sorted(Path(name).rglob("*"))))
    return {str(p): p.read_bytes() for p in found if p.is_file()}


def facts(public: PublicInfo) -> list[str]:
    """All that is public, so that two of them can be compared."""
    values = [getattr(public, f.name) for f in fields(public)]
    return [str((v.dtype, v.to_list())) if isinstance(v, pl.Series) else str(v) for v in values]


def hold_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is that of somebody who has nothing."""
    from recveil.kernels import flips

    for name in ("flip_profiles", "flip_columns"):
        honest = getattr(flips, name)
        nothing = lambda starts, items, *rest, honest=honest: honest(np.zeros_like(starts), items[:0], *rest)  # noqa: E731
        monkeypatch.setattr(flips, name, nothing)


def hold_post_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noisy tables as at first, and always the first of the likely tags."""
    from recveil.mechanisms.dp_tags import posts

    honest, kept = posts.DpPostTags.plan, []

    def held(self: Any, counts: Any, source: Any) -> Any:
        if not kept:
            kept.append(honest(self, counts, source))
        return kept[0]

    monkeypatch.setattr(posts.DpPostTags, "plan", held)
    monkeypatch.setattr(posts, "respond", lambda z, inside, place, weight: np.zeros(len(z), dtype=np.int64))  # noqa: ARG005


SEAMS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {"mask": hold_mask, "dp-post-tags": hold_post_tags}


def send_mask(monkeypatch: pytest.MonkeyPatch, spark: Any) -> None:
    """The same on executors, which do not see what a test replaces: what masks is sent to them."""
    spark.sparkContext.addPyFile(blind.__file__)
    monkeypatch.setitem(MECHANISMS, "mask", blind.Blind)
    monkeypatch.setattr("recveil.spark.supports.flipped", blind.flipped)


SENT: dict[str, Callable[[pytest.MonkeyPatch, Any], None]] = {"mask": send_mask}

# --- doors -----------------------------------------------------------------------------------------------------


MATRICES = ("matrix", "npz", "mtx")  # which have no times
LISTS = ("itemsets", "lists.jsonl", "lists.txt", "lists.parquet")


def columns_for(made: Mechanism, form: str) -> list[str]:
    if form in LISTS:
        return ["user", "item"]
    needed = [c for c in ("rating", "tag") if c in made.needs]
    needed += ["session"] * form.startswith("sessions") + ["event"] * form.startswith("values")
    return ["user", "item", *needed] if form in MATRICES else ["user", "item", "time", *needed]


def declared(made: Mechanism, form: str) -> str:
    """The columns of a file that has no header: in a release with a proof nobody's row says them."""
    if form in ("npz", "mtx") and "rating" in made.needs:
        return "user=user,item=item,rating=value"
    return ",".join(f"{c}={c}" for c in columns_for(made, form)) if form in ("jsonl", "sessions.jsonl") else ""


def options_of(made: Mechanism, form: str) -> list[object]:
    """The same for a command line; a file whose shape nothing but rows tells has a schema."""
    schema = schema_of(form, columns_for(made, form))
    if schema is None:
        return ["--columns", declared(made, form)] if declared(made, form) else []
    Path("log.toml").write_text(schema.text())
    return ["--schema", "log.toml"]


def put(rows: list[Row], made: Mechanism, form: str) -> str:
    """Its place: a file, or a folder of parts."""
    columns = columns_for(made, form)
    if form not in PARTS:
        Path(f"data.{form}").write_bytes({**FILES, **MORE}[form](rows, columns))
        return f"data.{form}"
    Path(f"data.{form}").mkdir()
    for name, content in PARTS[form](rows, columns).items():
        Path(f"data.{form}", name).write_bytes(content)
    return f"data.{form}"


def release_by_command(
    house: House, made: Mechanism, rows: list[Row], form: str, *more: object, items: Path | None = None
) -> Outcome:
    house.place()
    public = ["--items", items or house.lists, "--catalogue-is-public"]
    data = put(rows, made, form)
    return house.command("release", data, "--with", text(made), "-o", "out", *public, *options_of(made, form), *more)


def release_in_python(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    house.place()
    data = put(rows, made, form) if form in ALL else FRAMES[form](rows, columns_for(made, form))
    options = {"columns": declared(made, form)} if declared(made, form) else {}

    def call() -> Any:
        recveil.release(data, made, items=str(house.lists), catalogue_is_public=True, **options).save("out")

    return house.python(call)


def recommended(house: House, made: Mechanism, rows: list[Row], form: str, *more: object) -> Outcome:
    """The lists of everybody else, and those of similar items; a list goes to its own user alone."""
    house.place()
    options = options_of(made, form)
    options += (
        ["--similar", "similar", "--minsup", 0]
        if made.learned_from == "bits"
        else ["--items", house.items if more else house.lists, "--catalogue-is-public"]
    )
    found = house.command(
        "recommend", put(rows, made, form), "--with", text(made), "--top", 5, "-o", "lists", *options, *more,
        leaves=("lists", "similar"),
    )  # fmt: skip
    others = {str(row["user"]) for row in base_of(made)} - {"7" if unit_of(made) == "bit" else ""}
    lines = [line for name in found.files if name != "similar" for line in found.files[name].decode().splitlines()]
    kept = "\n".join(line for line in lines if line.partition("\t")[0] in others).encode()
    similar = {name: content for name, content in found.files.items() if name == "similar"}
    return replace(found, said=found.said[1:] if found.code else (), files={**similar, "lists": kept})


def tuned(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """What a tuner is handed: a twin of a size that was declared."""
    from recveil.evaluation import tune
    from recveil.evaluation.cache import fingerprint
    from recveil.evaluation.tuning import Tuned

    house.place()
    handed = lambda data, spec, *rest: Tuned(spec, (fingerprint(data),), {})  # noqa: E731, ARG005
    house.monkeypatch.setattr(tune, "tune_usefulness", handed)
    options = options_of(made, form)
    name, _ = made.strength or ("", ())
    spec = ",".join(part for part in text(made).replace(":", ":,").split(",") if not part.startswith(f"{name}="))
    spec = spec.replace(":,", ":").removesuffix(":")
    return house.command(
        "tune", put(rows, made, form), "--with", spec, "--keep", "lift>=0.5", "--people", 200, *options
    )


def audited(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """That an audit begins, and on which columns; its figures are the owner's, and of her data."""
    from recveil.evaluation.audit import request

    house.place()
    data = put(rows, made, form) if form in ALL else FRAMES[form](rows, columns_for(made, form))
    begun: list[str] = []

    def look(_: Any, data: Any, **more: Any) -> Any:  # noqa: ARG001
        begun.append(f"{data.kind} {data.unit} {sorted(data.frame().columns)}")

    house.monkeypatch.setattr(request, "audit", look)
    return house.python(lambda: [recveil.audit(text(made), data, runs=20), begun[0]][1])


def through_the_desk(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """The overview that shows no problem, and the bundle; what is published bears a name of its own."""
    from recveil.desk.project import bundles
    from recveil.desk.project.choices import Choices
    from recveil.desk.project.folder import open_project
    from recveil.desk.project.jobs import JobStore
    from recveil.desk.project.plan import jobs_of
    from recveil.desk.project.stages import perform
    from recveil.releases.progress import SILENT

    here = house.place()
    (here / "data").mkdir()
    path = here / put(rows, made, form)
    project = open_project(here / "project")
    named = {"columns": {c: c for c in columns_for(made, form)}} if declared(made, form) else {}
    choices = Choices().changed({
        "data": {"source": str(path), **named},
        "candidates": {"chosen": text(made)},
        "release": {"catalogue": str(house.lists), "catalogue_is_public": True, "ledger": ""},
    })  # fmt: skip
    desk = JobStore(project)

    def call() -> Any:
        problem = perform(project, jobs_of(desk, choices, "overview")[0], SILENT)["problem"]
        one = jobs_of(desk, choices, "bundle")[0]
        perform(project, one, SILENT)
        name = bundles.published_place(project, one.id).name
        (here / "out").mkdir()
        bundles.bundle_place(project, one.id).rename(here / "out" / "bundle")
        (here / "out" / "bundle" / "claims.jsonl").unlink(missing_ok=True)  # signed, with its date, over the rest
        return f"{problem}{name}"

    return house.python(call)


def judged(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """What a court says of itself, with the number of its people held, and its lines in the ledger."""
    from recveil.court import founding

    here = house.place()
    (here / "people.jsonl.key").write_text("5a" * 32)
    house.monkeypatch.setattr(
        founding, "_sized", lambda settled, request, _, items: _sized(settled, request, 50, items)
    )
    house.monkeypatch.setattr(founding.secrets, "token_hex", lambda _: "name")
    found = house.command(
        "judge", "new", put(rows, made, form), "--ledger", "people.jsonl", "--catalogue", house.items,
        "--catalogue-is-public", "--people", "50%", "--epsilon", 4, "-o", "court", *options_of(made, form),
        leaves=("court/court.json", "court/items.parquet", "people.jsonl"),
    )  # fmt: skip
    chance = re.compile(rb'"(date|previous|hash|sha256)": "[^"]*"')
    return replace(found, files={name: chance.sub(b"", content) for name, content in found.files.items()})


def chosen(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """A choice with a budget: what it says where the noise chooses the same, and its line."""
    from recveil.evaluation import choose

    here = house.place()
    public = here / "public.csv"
    public.write_bytes(FILES["csv"](base_of(made), columns_for(made, "csv")))
    house.monkeypatch.setattr(choose, "noisy_choice", lambda scores, *_: min(scores))
    house.monkeypatch.setattr(choose, "_fit", lambda *_: None)
    candidates = [part for spec in (text(made), "mask:p=0.7") for part in ("--with", spec)]
    return house.command(
        "compare", put(rows, made, form), *candidates, "--choose-epsilon", 1, "--stand-in", public, "--ledger",
        "people.jsonl", *options_of(made, form),
    )  # fmt: skip


def in_windows(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """The second window of a series: the first one knew her not, so that all that she changes shows."""
    from recveil.releases.ledger import now

    house.place()
    house.monkeypatch.setattr("secrets.token_bytes", lambda n: bytes(n))
    house.monkeypatch.setattr("secrets.token_hex", lambda n: "0" * n)
    house.monkeypatch.setattr("recveil.releases.ledger.now", lambda: now()[:4])
    spec = re.sub(r"(epsilon|delta)=[^,]*,?", "", text(made))  # those of a period are options
    told = house.command(
        "series", "new", "shop", "--epsilon", 90, "--delta", 0.01, "--participations", 1, "--with", spec, "--ledger",
        "people.jsonl", "--window", "day", "--period", "week", "--start", "2017-07-13", "--items", house.lists,
        "--catalogue-is-public",
    )  # fmt: skip
    assert told.code == 0, told.said
    options = options_of(made, form)
    for until, log in (("2017-07-14", base_of(made)), ("2017-07-15", rows)):
        shutil.rmtree(f"data.{form}", ignore_errors=True)
        told = house.command(
            "series", "release", "shop", put(log, made, form), "--until", until, *options,
            leaves=("shop/bundles", "people.jsonl"),
        )  # fmt: skip
    assert told.code or any(name.endswith("manifest.json") for name in told.files), told.files.keys()
    chance = re.compile(rb'"(date|previous|hash|sha256)": "[^"]*"')
    return replace(told, files={name: chance.sub(b"", content) for name, content in told.files.items()})


def fits_recommend(made: Mechanism) -> bool:
    return bool(made.learned_from)


def fits_disk(made: Mechanism) -> bool:
    return not (made.local_only or made.cluster_steps or "tag" in made.needs)


@dataclass(frozen=True)
class Door:
    """A way to a release, and the forms in which data come to it; `spec`: a mechanism as this door takes it."""

    run: Callable[..., Outcome]
    forms: tuple[str, ...]
    fits: Callable[[Mechanism], bool] = lambda made: True  # noqa: ARG005
    spec: Callable[[str], str] = lambda spec: spec
    on_spark: bool = False


def held_out(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    return release_by_command(house, made, rows, form, "--holdout", 0.3, "--holdout-file", "held.parquet")


def out_of_core(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """By way of a disk, with memory that holds the base and not one row more."""
    known = FILES["csv"](base_of(made), columns_for(made, "csv"))
    many = len(base_of(made)) if "parquet" in form else len(known) // 12
    memory = ["--memory", f"{many * ROW_BYTES / 1000}KB", "--scratch", "scratch"]
    return release_by_command(house, made, rows, form, *memory, items=house.items)


def with_facts(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """With a public file that tells of the items."""
    about = house.folder / "about.csv"
    facts = (f"{item},{'abc'[int(item) % 3]}|{'de'[int(item) % 2]}\n" for item in ITEMS)
    about.write_text("item,genres\n" + "".join(facts))
    return release_by_command(house, made, rows, form, items=about)


def release_on_spark(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    house.place()
    options = options_of(made, form)
    public = ["--items", house.items, "--catalogue-is-public", "--engine", "spark"]
    return house.command("release", put(rows, made, form), "--with", text(made), "-o", "out", *public, *options)


def recommended_on_spark(house: House, made: Mechanism, rows: list[Row], form: str) -> Outcome:
    """Lists lie in parts, each user's in one of them; everybody is alone in a chunk of bits, so that none is passed."""
    house.monkeypatch.setattr("recveil.spark.supports.USERS", 1)
    found = recommended(house, made, rows, form, "--engine", "spark")
    lists = b"\n".join(sorted(found.files["lists"].splitlines()))
    return replace(found, files={**found.files, "lists": lists})


def fits_spark(made: Mechanism) -> bool:
    return not made.local_only


def as_on_spark(spec: str) -> str:
    """With public items alone tags are selected, which needs delta."""
    return f"{spec},delta=0.01" if "tag" in parse(spec).needs and "delta" not in spec else spec


def is_of_people(made: Mechanism) -> bool:
    """Where the door has no mechanism of its own: once, with the clicks of people."""
    return made.name == "dp-streams"


OUT_OF_CORE = ("csv", "jsonl", "parts", "parts.parquet", "parquet", "text.parquet", "lists.parquet")
DOORS: dict[str, Door] = {
    "command line": Door(release_by_command, ALL),
    "people held out": Door(held_out, ("csv",)),
    "out of core": Door(out_of_core, OUT_OF_CORE, fits_disk),
    "facts of items": Door(with_facts, ("csv",), lambda made: made.reads_features),
    "Python": Door(release_in_python, ("csv", "jsonl", "sessions.jsonl", "parquet", "parts.parquet", *FRAMES)),
    "recommend": Door(recommended, ("csv", "jsonl", "parquet"), fits_recommend),
    "tune": Door(tuned, ("csv", "jsonl"), lambda made: bool(made.strength)),
    "audit": Door(audited, ("csv", "parquet", "polars", "pandas", "matrix")),
    "desk": Door(through_the_desk, ("csv", "jsonl", "parquet")),
    "judge": Door(judged, ("csv", "jsonl", "headless.csv", "parquet"), is_of_people),
    "choice": Door(chosen, ("csv", "jsonl"), is_of_people),
    "series": Door(
        in_windows, ("csv", "sessions.csv", "jsonl", "headless.csv", "parquet", "text.parquet"), is_of_people
    ),
    "Spark": Door(release_on_spark, ("csv", "jsonl", "parquet"), fits_spark, as_on_spark, on_spark=True),
    "recommend on Spark": Door(
        recommended_on_spark, ("csv",), lambda made: fits_spark(made) and fits_recommend(made), on_spark=True
    ),
}


def holds(made: Mechanism, form: str) -> bool:
    """Whether a form can hold what a mechanism needs."""
    return not made.needs if form in LISTS else "tag" not in made.needs if form in MATRICES else True


@dataclass(frozen=True)
class Cell:
    spec: str
    door: str
    form: str
    position: str
    odd: str


def table(on_spark: bool = False) -> list[Cell]:
    """Every cell that there is, of the doors of this machine or of those of a cluster."""
    return [
        Cell(how.spec(spec), door, form, position, odd)
        for spec, made in ((spec, parse(spec)) for spec in PROVED)
        for door, how in DOORS.items()
        if how.on_spark == on_spark and how.fits(made)
        for form in how.forms
        if holds(made, form)
        for position in POSITIONS
        for odd in ODDITIES
        if leads(made, door, odd)
    ]


def leads(made: Mechanism, door: str, odd: str) -> bool:
    """Whether the promise of this door covers it: mask's recommend takes the items that anybody has to be public."""
    if door.startswith("recommend") and made.learned_from == "bits" and odd in NEW_ITEMS:
        return False
    return covered(made, odd)


class Instrument:
    """Two neighbouring files through one door; the first of them once for all cells."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.without: dict[tuple[str, str, str], Outcome] = {}
        self.held: set[str] = set()

    def look(self, cell: Cell) -> Outcome:
        """Raise where anything that leaves the house tells that she is there."""
        made, door = parse(cell.spec), DOORS[cell.door]
        if cell.spec not in self.held:
            self.held.add(cell.spec)
            self.house.hold(cell.spec)
            name, first = ("Spark", release_on_spark) if door.on_spark else ("command line", release_by_command)
            published = first(self.house, made, base_of(made), "csv")  # what is published from now on
            self.without[cell.spec, name, "csv"] = published
        key = cell.spec, cell.door, cell.form
        if key not in self.without:
            self.without[key] = door.run(self.house, made, base_of(made), cell.form)
        one, rows = self.without[key], neighbour(made, cell.odd, cell.position)
        assert rows is not None
        other = door.run(self.house, made, rows, cell.form)
        assert (one.code, one.said) == (other.code, other.said), f"{asdict(cell)}: {one.said} {other.said}"
        assert one.files.keys() == other.files.keys(), asdict(cell)
        different = [name for name in one.files if one.files[name] != other.files[name]]
        assert not different, f"{asdict(cell)}: {different}"
        for value in (MARK, str(HER)):
            assert value not in other.screen, f"{asdict(cell)}: a message has {value}: {other.screen}"
        return one
