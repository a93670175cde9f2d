"""read, assess, release, attack, measure and compare, each called as often as one likes.

Data are given as a path, as sample:NAME, as a pandas, polars or arrow table, as a scipy matrix, or as what `read`
returned; a mechanism as a spec or as an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any, Literal

from recveil.actions.assess import AssessRequest, run_assess
from recveil.actions.compare import CompareRequest, run_compare
from recveil.actions.measure import MeasureRequest, run_measure
from recveil.api.keywords import keywords_of
from recveil.api.owners_screen import SCREEN
from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.evaluation.assess import Assessment
from recveil.evaluation.cache import fingerprint
from recveil.evaluation.catalogue import ATTACKS
from recveil.evaluation.measure import Findings
from recveil.evaluation.people import informed
from recveil.formats.schema import Schema
from recveil.measurement import Measurement, Trial
from recveil.measurement import measure as measure_trial
from recveil.mechanism import Mechanism
from recveil.mechanisms.spec import completed
from recveil.options import made
from recveil.releases import aside
from recveil.releases import ledger as ledgers
from recveil.releases.bundle import Bundle
from recveil.releases.catalogue import Catalogue, as_catalogue
from recveil.releases.doubts import doubts
from recveil.releases.inputs import Input
from recveil.releases.local import Tick
from recveil.releases.progress import SILENT, WARNING
from recveil.releases.published import told
from recveil.releases.release import Enter, Release, Time
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
    return run_assess(AssessRequest(rows, None if known is None else tuple(known), seed=seed))


@keywords_of()
def release(
    data: Any,
    mechanism: str | Mechanism,
    *,
    seed: int | None = None,
    time: Time = "auto",
    items: Any = None,
    catalogue_is_public: bool = False,
    publish_titles: bool = False,
    people: int | None = None,
    columns: Columns = None,
    schema: Any = None,
    attributes: Any = None,
    ledger: Any = None,
    chosen_on_data: bool = False,
    tick: Tick | None = None,
    enter: Enter | None = None,
    **parameters: Any,
) -> Release:
    """Protect data with a mechanism.

    data: anything that `read` takes or returned; whoever is named there is in them, also who has no row.
    mechanism: a spec such as "dp-streams:epsilon=1,delta=1e-6", a name with its parameters as keywords, or an object
        such as recveil.Mask(0.9).
    seed: without one, all chance comes from the operating system and is forgotten. With one the release is an
        experiment, marked so, and not for publication.
    time: drop it, reduce it to each person's order, or keep it; auto keeps the order of clicks and sessions.
    items: the public file of items (item, title, any columns), a table of it, or a list of ids; without one, a
        guarantee says what is taken to be public. catalogue and features are other names of it.
    catalogue_is_public: your word that it is, for which a proof asks; `publish_titles`: titles travel in the bundle.
    people: the declared number of people; without a delta, it is one tenth of one over that.
    columns: as for `read`; so is `schema`.
    attributes: for blur, what people are: a frame or a file with the column user and others.
    ledger: a file in which what is spent is entered, and whose people set aside are left out; `enter`, a function that
        is told instead.
    chosen_on_data: to say that figures computed on the data were looked at, as the ledger may say too.
    tick: a function that is told how many rows were done.
    parameters: of the mechanism, where it is given by its name.

    Beside a proof no row is refused: what is not an id or a number is a missing value, its row is left out, and a
    DataWarning says how many were. `.frame()` and `.to_pandas()` are the released rows, `.guarantee` the promise,
    `.save("out")` writes a bundle.

    >>> made = recveil.release("sample:films?users=50", "random-ratings", seed=1)
    >>> made.guarantee.status, made.frame().columns
    ('none', ['user', 'item', 'rating'])
    """
    chosen = informed(completed(mechanism, people, **parameters), attributes)
    asked = Input(data, columns, schema=schema).under(chosen)
    rows = asked.rows(SCREEN)
    given = as_catalogue(items, publish_titles)
    if catalogue_is_public or asked.catalogue_is_public:
        given = replace(given or Catalogue(), is_public=True)
    if ledger:  # those set aside to be judged on are in no release
        rows, without = aside.left_in(ledger, rows)
        enter = ledgers.into(ledger, note=lambda: fingerprint(rows), without=without)
    for line in doubts(chosen, rows, given or Catalogue()):
        SCREEN.note(WARNING + line)
    answer = ledgers.chosen_on_data(ledger, chosen_on_data)
    released = protect(
        rows,
        chosen,
        seed=seed,
        time=time,
        catalogue=given,
        tick=tick or SILENT.counter("", 0),
        enter=enter,
        everyone=True,
    )
    return replace(told(released, answer), schema_from=asked.schema_from)


@keywords_of(MeasureRequest, without=("source", "release", "engine"))
def measure(
    data: Any,
    released: Any,
    seed: int | None = 0,
    mechanism: str | None = None,
    *,
    only: Sequence[str] | None = None,
    known: Sequence[int] | None = None,
    **wishes: Any,
) -> Any:
    """What a release gives away, and what it is worth: attacks and metrics with intervals, controls and chance.

    data: the rows of the owner, anything that `read` takes.
    released: a bundle's folder, a Release (which knows whose record is whose), or a table made elsewhere.
    seed: the same seed gives the same numbers; None draws afresh.
    mechanism: what the measurements of a trial are to be called.
    only: names of measures; one of these that cannot be made is an error, unless `strict` is False.
    known: how many items of a person the linkage attacker knows; `recipient`, in place of it: so many as who receives
        the release is taken to know; `known_items`: which, random, rare or consecutive; `ratings`: with or without.
    holdout: people of the data who are not in the release, anything that `read` takes.
    columns: as for `read`; so are `schema`, `types`, `fold_tags`; `id_map`: which record is whose, a table or a file.
    shadows: releases of halves to learn an attack from, such as 32; `items`: the public file over which they are made;
        `command`: what makes them where another tool made the release, in so many `seconds` each.
    also: another bundle of the same people, with its map, `also_map`; `attributes`: a table of what people are.
    ledger: a file in which the look is entered.

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
    wishes |= {"only": None if only is None else tuple(only), "known": None if known is None else tuple(known)}
    return run_measure(made(MeasureRequest, {"source": data, "release": released, "seed": seed, **wishes}))


@keywords_of(measure, without=("strict",))
def attack(data: Any, released: Any, *, only: Sequence[str] | None = None, **wishes: Any) -> Findings:
    """What an adversary learns from a release: `measure` with the attacks alone.

    data: the rows that were released, anything that `read` takes.
    released: a bundle's folder, a Release, or a table made elsewhere.
    only: names of attacks, such as ["linkage"]; all of them otherwise. The other arguments are those of `measure`.

    >>> data = recveil.read("sample:films?users=100,items=80")
    >>> made = recveil.release(data, "pseudonymise", seed=1)
    >>> found = recveil.attack(data, made, only=["linkage"], known=[4], seed=1)
    >>> found.frame().filter(name="linkage")["value"].max() > 0.5
    True
    """
    for name in only or ():
        if name not in ATTACKS:
            raise unknown("attack", name, ATTACKS)
    found: Findings = measure(data, released, only=only or list(ATTACKS), strict=only is not None, **wishes)
    return found  # of data, not of a trial


@keywords_of(CompareRequest, without=("source", "candidates", "releases", "cache", "engine"))
def compare(data: Any, mechanisms: Sequence[Any], *, seed: int = 0, **wishes: Any) -> Report:
    """Several releases of the same people, attacked and used alike.

    data: anything that `read` takes.
    mechanisms: specs, objects (also of classes of your own), and files or bundles made elsewhere.
    seed: for the split and for the releases, which are experiments.
    holdout: the share of people whom no mechanism sees: the strangers of the attacks, the judges of utility.
    splits: for the order of algorithms alone; 5 or more to trust it.
    quick: the quick referees alone, for a first look; `only`: names of measures, such as ["linkage", "lift"].
    columns: as for `read`; so are `schema`, `types`, `duplicates` and `fold_tags`; `items`, as for `release`.
    shadows: releases of halves that an attack is learned from; else 16, or 8 for a first look.
    attributes: a table of what people are, for attackers to infer and blur to hide.
    ledger: a file in which it is entered that the data were looked at. No proof covers what is chosen by these
        figures: `choose` chooses within a budget.

    `.frame()` has all numbers, `.frontier()` a row for each mechanism, `.save("report.html")` writes the page.

    >>> report = recveil.compare("sample:films?users=100,items=80", ["pseudonymise", recveil.RandomRatings()],
    ...                          only=["linkage"])
    >>> report.frontier()["mechanism"].to_list()
    ['pseudonymise', 'random-ratings']
    """
    if wishes.get("only") is not None:
        wishes["only"] = tuple(wishes["only"])
    given = (mechanisms,) if isinstance(mechanisms, str | Mechanism | PathLike) else tuple(mechanisms)
    request = made(CompareRequest, {"source": data, "candidates": given, **wishes})
    return run_compare(replace(request, design=replace(request.design, seed=seed)))


def _measured(trial: Trial, measures: Any, seed: int | None, mechanism: str | None) -> list[Measurement]:
    if not isinstance(measures, Mapping):
        raise RecveilError("a trial is measured by functions by their names, such as {'mine': mine}")
    return measure_trial(trial, measures, seed or 0, mechanism)
