"""read, assess, release, attack, measure, compare, audit, tune and recommend, each called as often as one likes.

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
from recveil.desk.audit import Audited
from recveil.desk.audit.one_run import AuditedOnce
from recveil.desk.audit.request import AuditRequest, run_audit
from recveil.desk.bundle import Bundle
from recveil.desk.cache import Cache
from recveil.desk.catalogue import Catalogue, as_catalogue
from recveil.desk.compare import CompareRequest, run_compare
from recveil.desk.design import Design
from recveil.desk.equipment import Equipment
from recveil.desk.inputs import Input
from recveil.desk.measure import Findings, MeasureRequest, run_measure
from recveil.desk.people import informed
from recveil.desk.recommend import Recommended, RecommendRequest, run_recommend
from recveil.desk.release import Release, Time
from recveil.desk.release import release as protect
from recveil.desk.tune import TuneRequest, run_tune
from recveil.errors import RecveilError, unknown
from recveil.measurement import Measurement, Trial
from recveil.measurement import measure as measure_trial
from recveil.mechanism import Mechanism
from recveil.mechanisms.spec import as_mechanism
from recveil.report.table import Report
from recveil.tuning import Tuned

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
    more: tick, told how many rows were just done; enter, told what is spent before noise is drawn.

    `.frame()` and `.to_pandas()` are the released rows, `.guarantee` the promise, `.save("out")` writes a bundle.

    >>> made = recveil.release("sample:films?users=50", "random-ratings", seed=1)
    >>> made.guarantee.status, made.frame().columns
    ('none', ['user', 'item', 'rating'])
    """
    rows, chosen = Input(data, columns).rows(), informed(as_mechanism(mechanism), attributes)
    return protect(rows, chosen, seed=seed, time=time, catalogue=as_catalogue(catalogue), **more)


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
    equipment: shadows=32 to learn an attack from; attributes, a table of people; also, another bundle of them.

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
    quick: the quick referees alone, for a first look.
    only: names of measures, such as ["linkage", "lift"].
    columns: as for `read`.
    more: attributes, a table of what people are, for attackers to infer and blur to hide.

    `.frame()` has all numbers, `.frontier()` a row for each mechanism, `.save("report.html")` writes the page.

    >>> report = recveil.compare("sample:films?users=100,items=80", ["pseudonymise", recveil.RandomRatings()],
    ...                          only=["linkage"])
    >>> report.frontier()["mechanism"].to_list()
    ['pseudonymise', 'random-ratings']
    """
    design = Design(seed, holdout, splits, quick, None if only is None else tuple(only))
    given = (mechanisms,) if isinstance(mechanisms, str | Mechanism | PathLike) else tuple(mechanisms)
    return run_compare(CompareRequest(Input(data, columns), given, design, Cache(None), **more))


def audit(
    mechanism: str | Mechanism,
    data: Any = None,
    *,
    runs: int = 1000,
    one_run: bool = False,
    confidence: float = 0.95,
    seed: int | None = None,
    **more: Any,
) -> Audited | AuditedOnce:
    """A mechanism's epsilon put to the test: a lower bound from many releases with and without a canary.

    mechanism: a spec or an object.
    data: what to put the canary into, anything that `read` takes; otherwise a toy.
    runs: releases of each of the two neighbouring data sets.
    one_run: one release with many canaries instead; `canaries` says how many.
    confidence: of the bound.
    seed: makes the audit repeatable.
    more: canaries; catalogue, a file of public ids.

    >>> recveil.audit("pseudonymise", runs=30, seed=1).verdict
    'no claim'
    """
    rows = None if data is None else Input(data)
    wishes: dict[str, Any] = {"runs": runs, "one_run": one_run, "confidence": confidence, "seed": seed, **more}
    return run_audit(AuditRequest(as_mechanism(mechanism), rows, **wishes))


def tune(data: Any, mechanism: str, *, keep: str | None = None, seed: int | None = None, **more: Any) -> Tuned:
    """The parameters of a mechanism that keep a bound. Measured on the true data, the answer is for the owner alone.

    data: anything that `read` takes.
    mechanism: the spec of one that can be tuned, such as mask or shuffle-nnn.
    keep: a bound, such as "lift>=0.7", "agreement>=0.8" or "linkage@8<=0.1"; mask by itself takes none.
    seed: makes the search repeatable.
    more: people and items, the size of a generated twin to measure on; on_data=True, to measure on the data although
        the mechanism makes a promise.

    `.spec` is what to release with, `.lines` say why, `.found` has all that was tried.

    >>> recveil.tune("sample:films?users=60,items=60", "mask", seed=1).spec.startswith("mask:p=")
    True
    """
    if not isinstance(mechanism, str):
        raise RecveilError("tune takes the name of a mechanism, such as 'mask', whose parameters it finds")
    return run_tune(TuneRequest(Input(data), mechanism, keep, seed=seed, **more))


def recommend(
    data: Any, mechanism: str | Mechanism, *, top: int = 30, score: str = "max", seed: int | None = None, **more: Any
) -> Recommended:
    """Lists for every user, learned from what a mechanism lets out.

    data: anything that `read` takes.
    mechanism: mask or dp-streams, as a spec or an object.
    top: items in a list.
    score: max, the closest item counts; or sum, all of them.
    seed: makes it an experiment that can be repeated.
    more: history, minsup, similar, catalogue, statistics, ledger; see docs/reference/commands.md.

    `.lists` has them by user, `.frame()` as a table.

    >>> made = recveil.recommend("sample:films?users=60,items=60", recveil.Mask(0.9), top=3, seed=1)
    >>> made.frame().columns
    ['user', 'place', 'item']
    """
    return run_recommend(RecommendRequest(Input(data), mechanism, top, score, seed=seed, **more))


def _measured(trial: Trial, measures: Any, seed: int | None, mechanism: str | None) -> list[Measurement]:
    if not isinstance(measures, Mapping):
        raise RecveilError("a trial is measured by functions by their names, such as {'mine': mine}")
    return measure_trial(trial, measures, seed or 0, mechanism)
