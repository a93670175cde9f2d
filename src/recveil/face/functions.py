"""read, assess, release, attack, measure and compare, each called as often as one likes.

Data are given as a path, as sample:NAME, as a pandas, polars or arrow table, as a scipy matrix, or as what `read`
returned; a mechanism as a spec or as an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal

import polars as pl

from recveil.attacks import ATTACKS
from recveil.data import Interactions
from recveil.desk.assess import Assessment, AssessRequest, run_assess
from recveil.desk.bundle import Bundle
from recveil.desk.cache import Cache
from recveil.desk.catalogue import Catalogue, as_catalogue
from recveil.desk.compare import CompareRequest, run_compare
from recveil.desk.design import Design
from recveil.desk.equipment import Equipment
from recveil.desk.inputs import Input
from recveil.desk.measure import Findings, MeasureRequest, run_measure
from recveil.desk.people import informed
from recveil.desk.release import Release, Time
from recveil.desk.release import release as protect
from recveil.errors import RecveilError, unknown
from recveil.measurement import Measurement, Trial
from recveil.measurement import measure as measure_trial
from recveil.mechanism import Mechanism
from recveil.mechanisms.spec import as_mechanism
from recveil.report.table import Report

Columns = Mapping[str, str] | str | None


def read(
    data: Any,
    columns: Columns = None,
    duplicates: Literal["error", "first", "last", "all"] = "last",
    types: Mapping[str, str] | str | None = None,
) -> Interactions:
    """Interactions from a file, a frame or a matrix.

    data: a path (csv, tsv, parquet, jsonl, MovieLens, RecBole, HetRec; .gz and .zst too), sample:films,
        sample:sessions or sample:tags, a pandas, polars (also lazy) or arrow table, a scipy users x items matrix.
    columns: roles (user, session, item, rating, time, tag) and the names of the columns that play them; the obvious
        names need none. As a mapping, or as "user=uid,item=movie".
    duplicates: of rows with the same user and item the last one stays, the first, all, or it is an error.
    types: of ids, int or text, such as "item=int,user=text"; otherwise they are told by a rule on each row.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"uid": [7, 7, 8], "film": ["a", "b", "a"], "stars": [4, 2, 5]})
    >>> recveil.read(frame, columns={"user": "uid", "item": "film", "rating": "stars"}).n_users
    2
    """
    return Input(data, columns, duplicates, types=types).rows()  # type: ignore[arg-type]


def assess(data: Any, *, seed: int = 0, known: Sequence[int] | None = None, columns: Columns = None) -> Assessment:
    """Before anything is released: who would be found if only the ids were replaced?

    data: anything that `read` takes.
    seed: the attacks draw people and items; the same seed gives the same numbers.
    known: how many items of a person the attacker knows, such as (2, 4, 8).
    columns: as for `read`.

    The result is a mapping with measurements, warnings, advice and sentences (`words`); it shows itself as a table, and
    `.frame()` is that table. It names the riskiest people: it is for the owner alone.

    >>> found = recveil.assess("sample:films?users=200,items=80", known=(2, 4))
    >>> found["users"], "linkage" in found.frame()["name"]
    (200, True)
    """
    return run_assess(AssessRequest(Input(data, columns), None if known is None else tuple(known), seed))


def release(
    data: Any,
    mechanism: str | Mechanism,
    *,
    seed: int | None = None,
    time: Time = "auto",
    catalogue: Catalogue | pl.Series | Sequence[Any] | str | None = None,
    columns: Columns = None,
    attributes: Any = None,
    **more: Any,
) -> Release:
    """Protect data with a mechanism.

    data: anything that `read` takes.
    mechanism: a spec such as "dp-streams:epsilon=1,delta=1e-6", or an object such as recveil.Mask(0.9).
    seed: without one, all chance comes from the operating system and is forgotten. With one the release is an
        experiment, marked so, and not for publication.
    time: drop it, reduce it to each person's order, or keep it; auto keeps the order of clicks and sessions.
    catalogue: the public list of item ids, or a file of it; without one, a guarantee says what is taken to be public.
    columns: as for `read`.
    attributes: for blur, what people are: a frame or a file with the column user and others.
    more: features of items, public, a frame or a file; tick, told how many rows were done; enter, told what is spent.

    `.frame()` and `.to_pandas()` are the released rows, `.guarantee` the promise, `.save("out")` writes a bundle.

    >>> made = recveil.release("sample:films?users=50", "random-ratings", seed=1)
    >>> made.guarantee.status, made.frame().columns
    ('none', ['user', 'item', 'rating'])
    """
    rows, chosen = Input(data, columns).rows(), informed(as_mechanism(mechanism), attributes)
    given = as_catalogue(catalogue, more.pop("features", None))
    return protect(rows, chosen, seed=seed, time=time, catalogue=given, **more)


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
    **equipment: Any,
) -> Any:
    """What a release gives away, and what it is worth: attacks and metrics with intervals, controls and chance.

    data: the rows of the owner, anything that `read` takes.
    released: a bundle's folder, a Release (which knows whose record is whose), or a table made elsewhere.
    seed: the same seed gives the same numbers; None draws afresh.
    mechanism: what the measurements of a trial are to be called.
    only: names of measures; one of these that cannot be made is an error, unless `strict` is False.
    known: how many items of a person the linkage attacker knows.
    holdout: people of the data who are not in the release, anything that `read` takes.
    equipment: shadows=32 to learn an attack from, and catalogue, the public lists over which those are made;
        attributes, a table of people; also, another bundle of them.

    The result shows itself as a table; `.frame()` is that table, `.left_out` says what could not be measured, and why.
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
        data=Input(data),
        release=released,
        holdout=None if holdout is None else Input(holdout),
        only=None if only is None else tuple(only),
        known=None if known is None else tuple(known),
        seed=seed,
        strict=strict,
        equipment=Equipment(**equipment),
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
    columns: as for `read`; `more`: catalogue, as for `release`; shadows, releases that an attack is learned from;
        attributes, a table of what people are, for attackers to infer and blur to hide.

    `.frame()` has all numbers, `.frontier()` a row for each mechanism, `.save("report.html")` writes the page.

    >>> report = recveil.compare("sample:films?users=100,items=80", ["pseudonymise", recveil.RandomRatings()],
    ...                          only=["linkage"])
    >>> report.frontier()["mechanism"].to_list()
    ['pseudonymise', 'random-ratings']
    """
    lists, people = as_catalogue(more.pop("catalogue", None)), more.pop("attributes", None)
    design = Design(seed, holdout, splits, quick, None if only is None else tuple(only), **more)
    given = (mechanisms,) if isinstance(mechanisms, str | Mechanism | PathLike) else tuple(mechanisms)
    return run_compare(CompareRequest(Input(data, columns), given, design, Cache(None), lists, people))


def _measured(trial: Trial, measures: Any, seed: int | None, mechanism: str | None) -> list[Measurement]:
    if not isinstance(measures, Mapping):
        raise RecveilError("a trial is measured by functions by their names, such as {'mine': mine}")
    return measure_trial(trial, measures, seed or 0, mechanism)
