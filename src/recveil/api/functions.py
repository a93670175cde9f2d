"""read, assess, release, attack, measure and compare, each called as often as one likes.

Data are given as a path, as sample:NAME, as a pandas, polars or arrow table, as a scipy matrix, or as what `read`
returned; a mechanism as a spec or as an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any, Literal

from recveil.actions.measure import MeasureRequest, run_measure
from recveil.api.owners_screen import SCREEN
from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.evaluation.assess import Assessment, AssessRequest, run_assess
from recveil.evaluation.cache import Cache, fingerprint
from recveil.evaluation.catalogue import ATTACKS
from recveil.evaluation.compare import CompareRequest, run_compare
from recveil.evaluation.design import Design
from recveil.evaluation.measure import Findings
from recveil.evaluation.people import informed
from recveil.evaluation.resources import AttackerResources
from recveil.formats.schema import Schema
from recveil.measurement import Measurement, Trial
from recveil.measurement import measure as measure_trial
from recveil.mechanism import Mechanism
from recveil.mechanisms.spec import completed, parameters_of
from recveil.releases import ledger as ledgers
from recveil.releases.bundle import Bundle
from recveil.releases.catalogue import Catalogue, as_catalogue, one_of
from recveil.releases.doubts import doubts
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, WARNING
from recveil.releases.published import told
from recveil.releases.release import Release, Time
from recveil.releases.release import release as protect
from recveil.report.table import Report

Columns = Mapping[str, str] | str | None


def read(
    data: Any,
    columns: Columns = None,
    duplicates: Literal["error", "first", "last", "all"] = "last",
    types: Mapping[str, str] | str | None = None,
    schema: Schema | str | PathLike[str] | None = None,
    broken: Literal["refuse", "drop"] = "refuse",
) -> Interactions:
    """Interactions from a file, a frame or a matrix.

    data: a path (csv, tsv, parquet, jsonl, MovieLens, RecBole, HetRec; .gz and .zst too), sample:films,
        sample:sessions or sample:tags, a pandas, polars (also lazy) or arrow table, a scipy users x items matrix.
    columns: roles (user, session, item, rating, time, tag) and the names of the columns that play them; the obvious
        names need none. As a mapping, or as "user=uid,item=movie".
    duplicates: of rows with the same user and item the last one stays, the first, all, or it is an error.
    types: of ids, int or text, such as "item=int,user=text"; otherwise they are told by a rule on each row.
    schema: in place of columns and types, the file that `recveil inspect DATA --schema FILE` proposes.
    broken: a row that is no interaction is refused, or dropped, as a release with a proof does by itself.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"uid": [7, 7, 8], "film": ["a", "b", "a"], "stars": [4, 2, 5]})
    >>> recveil.read(frame, columns={"user": "uid", "item": "film", "rating": "stars"}).n_users
    2
    """
    given = Input(data, columns, duplicates, types=types, broken=broken, schema=schema)  # type: ignore[arg-type]
    return given.rows(SCREEN if broken == "drop" else SILENT)


def assess(
    data: Any, *, seed: int = 0, known: Sequence[int] | None = None, columns: Columns = None, schema: Any = None
) -> Assessment:
    """Before anything is released: who would be found if only the ids were replaced?

    data: anything that `read` takes.
    seed: the attacks draw people and items; the same seed gives the same numbers.
    known: how many items of a person the attacker knows, such as (2, 4, 8).
    columns: as for `read`; so is `schema`.

    The result is a mapping with measurements, warnings, advice and sentences (`words`); it shows itself as a table, and
    `.frame()` is that table. It names the riskiest people: it is for the owner alone.

    >>> found = recveil.assess("sample:films?users=200,items=80", known=(2, 4))
    >>> found["users"], "linkage" in found.frame()["name"]
    (200, True)
    """
    rows = Input(data, columns, schema=schema)
    return run_assess(AssessRequest(rows, None if known is None else tuple(known), seed))


def release(
    data: Any,
    mechanism: str | Mechanism,
    *,
    seed: int | None = None,
    time: Time = "auto",
    items: Any = None,
    columns: Columns = None,
    attributes: Any = None,
    **more: Any,
) -> Release:
    """Protect data with a mechanism.

    data: anything that `read` takes.
    mechanism: a spec such as "dp-streams:epsilon=1,delta=1e-6", a name with its parameters as keywords, or an object
        such as recveil.Mask(0.9). With people=5000, the declared number of people, delta is one tenth of one over it.
    seed: without one, all chance comes from the operating system and is forgotten. With one the release is an
        experiment, marked so, and not for publication.
    time: drop it, reduce it to each person's order, or keep it; auto keeps the order of clicks and sessions.
    items: the public file of items (item, title, any columns), a table of it, or a list of ids; without one, a
        guarantee says what is taken to be public. A proof asks for your word that it is: `catalogue_is_public=True`.
        `publish_titles=True`: titles travel in the bundle.
    columns: as for `read`.
    attributes: for blur, what people are: a frame or a file with the column user and others.
    more: schema, as for `read`; ledger, a file in which what is spent is entered; chosen_on_data=True, to say that
        figures computed on the data were looked at, as the ledger may say too; tick, told how many rows were done;
        enter, told what is spent. catalogue and features are names of items.

    Beside a proof no row is refused: what is not an id or a number is a missing value, its row is left out, and a
    DataWarning says how many were. `.frame()` and `.to_pandas()` are the released rows, `.guarantee` the promise,
    `.save("out")` writes a bundle.

    >>> made = recveil.release("sample:films?users=50", "random-ratings", seed=1)
    >>> made.guarantee.status, made.frame().columns
    ('none', ['user', 'item', 'rating'])
    """
    people = more.pop("people", None)
    given_here = {name: more.pop(name) for name in parameters_of(mechanism) & more.keys()}
    chosen = informed(completed(mechanism, people, **given_here), attributes)
    asked = Input(data, columns, schema=more.pop("schema", None)).under(chosen)
    rows = asked.rows(SCREEN)
    given = as_catalogue(public_items_of(more, items), more.pop("publish_titles", False))
    if more.pop("catalogue_is_public", False) or asked.catalogue_is_public:
        given = replace(given or Catalogue(), is_public=True)
    for line in doubts(chosen, rows, given or Catalogue()):
        SCREEN.note(WARNING + line)
    if ledger := more.pop("ledger", None):
        more["enter"] = ledgers.into(ledger, note=lambda: fingerprint(rows))
    answer = ledgers.chosen_on_data(ledger, more.pop("chosen_on_data", False))
    everyone = not isinstance(data, Interactions)  # as read just now; others may name people who are not in the data
    made = protect(rows, chosen, seed=seed, time=time, catalogue=given, **{"everyone": everyone, **more})
    return replace(told(made, answer), schema_from=asked.schema_from)


def attack(data: Any, released: Any, *, only: Sequence[str] | None = None, **more: Any) -> Findings:
    """What an adversary learns from a release: `measure` with the attacks alone.

    data: the rows that were released, anything that `read` takes.
    released: a bundle's folder, a Release, or a table made elsewhere.
    only: names of attacks, such as ["linkage"]; all of them otherwise.
    more: the other arguments of `measure`.

    >>> data = recveil.read("sample:films?users=100,items=80")
    >>> made = recveil.release(data, "pseudonymise", seed=1)
    >>> found = recveil.attack(data, made, only=["linkage"], known=[4], seed=1)
    >>> found.frame().filter(name="linkage")["value"].max() > 0.5
    True
    """
    for name in only or ():
        if name not in ATTACKS:
            raise unknown("attack", name, ATTACKS)
    found: Findings = measure(data, released, only=only or list(ATTACKS), strict=only is not None, **more)
    return found  # of data, not of a trial


def measure(
    data: Any,
    released: Any,
    seed: int | None = 0,
    mechanism: str | None = None,
    *,
    only: Sequence[str] | None = None,
    known: Sequence[int] | None = None,
    holdout: Any = None,
    strict: bool | None = None,
    **resources: Any,
) -> Any:
    """What a release gives away, and what it is worth: attacks and metrics with intervals, controls and chance.

    data: the rows of the owner, anything that `read` takes.
    released: a bundle's folder, a Release (which knows whose record is whose), or a table made elsewhere.
    seed: the same seed gives the same numbers; None draws afresh.
    mechanism: what the measurements of a trial are to be called.
    only: names of measures; one of these that cannot be made is an error, unless `strict` is False.
    known: how many items of a person the linkage attacker knows.
    holdout: people of the data who are not in the release, anything that `read` takes.
    resources: shadows=32 to learn an attack from, and items, the public file over which those are made;
        attributes, a table of people; also, another bundle of them; schema, as for `read`; ledger, a file in which
        the look is entered; recipient, in place of known: so many as they are taken to know.

    The result shows itself as a table; `.frame()` is that table, `.skipped` says what could not be measured, and why.
    `measure(trial, measures, seed)` runs functions of one's own on a `trial`, and returns a list.

    >>> data = recveil.read("sample:films?users=100,items=80")
    >>> found = recveil.measure(data, recveil.release(data, "pseudonymise", seed=1), only=["popularity"])
    >>> found.frame()["value"].to_list()
    [1.0]
    """
    if isinstance(data, Trial):
        return _measured(data, released, seed, mechanism)
    if isinstance(released, str | PathLike):
        released = fspath(released)
    elif not isinstance(released, Interactions | Release | Bundle):
        released = Input(released, duplicates="all").rows()
    request = MeasureRequest(
        data=Input(data, schema=resources.pop("schema", None)),
        release=released,
        holdout=None if holdout is None else Input(holdout),
        only=None if only is None else tuple(only),
        known=None if known is None else tuple(known),
        recipient=resources.pop("recipient", None),
        seed=seed,
        strict=strict,
        ledger=resources.pop("ledger", None),
        resources=AttackerResources(catalogue=public_items_of(resources), **resources),
    )
    return run_measure(request)


def compare(
    data: Any,
    mechanisms: Sequence[Any],
    *,
    seed: int = 0,
    holdout: float = 0.2,
    splits: int = 1,
    quick: bool = False,
    only: Sequence[str] | None = None,
    columns: Columns = None,
    **more: Any,
) -> Report:
    """Several releases of the same people, attacked and used alike.

    data: anything that `read` takes.
    mechanisms: specs, objects (also of classes of your own), and files or bundles made elsewhere.
    seed: for the split and for the releases, which are experiments.
    holdout: the share of people whom no mechanism sees: the strangers of the attacks, the judges of utility.
    splits: for the order of algorithms alone; 5 or more to trust it.
    quick: the quick referees alone, for a first look; `only`: names of measures, such as ["linkage", "lift"].
    columns: as for `read`; `more`: schema, as for `read`; items, as for `release`; shadows, releases that an attack
        is learned from; attributes, a table of what people are, for attackers to infer and blur to hide; ledger, a
        file in which it is entered that the data were looked at. No proof covers what is chosen by these figures:
        `choose` chooses within a budget.

    `.frame()` has all numbers, `.frontier()` a row for each mechanism, `.save("report.html")` writes the page.

    >>> report = recveil.compare("sample:films?users=100,items=80", ["pseudonymise", recveil.RandomRatings()],
    ...                          only=["linkage"])
    >>> report.frontier()["mechanism"].to_list()
    ['pseudonymise', 'random-ratings']
    """
    lists, people = as_catalogue(public_items_of(more)), more.pop("attributes", None)
    ledger = more.pop("ledger", None)
    rows = Input(data, columns, schema=more.pop("schema", None))
    design = Design(seed, holdout, splits, quick, None if only is None else tuple(only), **more)
    given = (mechanisms,) if isinstance(mechanisms, str | Mechanism | PathLike) else tuple(mechanisms)
    return run_compare(CompareRequest(rows, given, design, Cache(None), lists, people, ledger))


def public_items_of(more: dict[str, Any], items: Any = None) -> Any:
    """The public items among keywords, by whichever of their names; they are taken out."""
    items = more.pop("items", None) if items is None else items
    return one_of(items=items, catalogue=more.pop("catalogue", None), features=more.pop("features", None))


def _measured(trial: Trial, measures: Any, seed: int | None, mechanism: str | None) -> list[Measurement]:
    if not isinstance(measures, Mapping):
        raise RecveilError("a trial is measured by functions by their names, such as {'mine': mine}")
    return measure_trial(trial, measures, seed or 0, mechanism)
