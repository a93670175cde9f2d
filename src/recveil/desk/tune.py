"""tune: the parameters of a mechanism that keep a bound, measured on the data, on a stand-in, or on a generated twin.

Tuning looks at what it is given as often as it likes, and no guarantee covers that. So a mechanism with a promise is
tuned on a twin of a size that the owner declares, or on a public stand-in; on the data only if that is said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.desk import ledger as book
from recveil.desk.catalogue import Catalogue, as_catalogue, shared
from recveil.desk.inputs import SAMPLE, Input
from recveil.desk.progress import SILENT, Progress
from recveil.dp.noise import draw, laplace
from recveil.errors import RecveilError, unknown
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.mechanisms import known_mechanisms
from recveil.randomness import source
from recveil.samples import sample
from recveil.tuning import TUNERS, Tuned
from recveil.tuning.usefulness import tune_usefulness, usefulness_bound

WORLDS = {"ratings": "films", "clicks": "sessions", "sessions": "sessions", "tags": "tags"}
TWIN = "measured on a generated twin: no row of the data was looked at, and nothing was spent"
FEWEST = 100  # people of a twin, however few were counted
STAND_IN = "measured on a generated sample: nothing was spent"
ON_DATA = "the choice was made on the true data, and no guarantee covers that; keep the curve to yourself"


@dataclass(frozen=True)
class TuneRequest:
    """`people` and `items` declare the size of a generated twin, on which is measured instead of on the data.

    `count`: count the people for that twin with noise of this epsilon, which is entered in `ledger` if one is named.
    `keep`: a bound such as lift>=0.7, skill>=0.8, agreement>=0.8 or linkage@8<=0.1. `on_data`: measure on the data
    themselves, although the mechanism makes a promise. `catalogue`: public lists over which is released; a twin has as
    many items as the list, and its own are then taken to be public.
    """

    data: Input
    spec: str
    keep: str | None = None
    people: int | None = None
    items: int | None = None
    on_data: bool = False
    seed: int | None = None
    catalogue: Any = None
    count: float | None = None
    ledger: str | None = None

    def __post_init__(self) -> None:
        if self.count is not None and not 0 < self.count <= 1:
            raise RecveilError(f"--count is an epsilon above 0 and at most 1, such as 0.1, not {self.count:g}")
        if self.count is not None and self.people is not None:
            raise RecveilError("--people declares the number, --count counts it; give one of the two")
        if self.ledger and self.count is None:
            raise RecveilError("--ledger is for what --count spends; nothing else is spent here")


def run_tune(request: TuneRequest, progress: Progress = SILENT) -> Tuned:
    """What was found, with a line on what it was measured on and what that costs."""
    name = request.spec.partition(":")[0]
    bound = usefulness_bound(request.keep)
    able = {*TUNERS, *(n for n, m in known_mechanisms().items() if m.strength)}
    if name not in able:
        raise unknown("mechanism to tune", name, able)
    if bound is None and name not in TUNERS:
        raise RecveilError(f"{name} is tuned to what must still work: give a bound, such as --keep 'lift>=0.7'")
    rows, where = _measured_on(request, name, progress)
    twin = bool(request.people or request.count)
    lists = Catalogue(rows.items) if twin and request.catalogue is not None else shared(request.catalogue, rows)

    def show(done: int, of: int) -> None:
        progress.step(f"tune {name}", done, of)

    if bound is not None:
        found = tune_usefulness(rows, request.spec, bound, request.seed, show, lists)
        return Tuned(found.spec, (*found.lines, where), {**found.found, "measured_on": where}, found.chart)
    rows = rows if lists is None else lists.over(rows)
    return TUNERS[name](rows, request.spec, request.keep, request.seed, show)


def _measured_on(request: TuneRequest, name: str, progress: Progress) -> tuple[Interactions, str]:
    """The rows to measure on, and what that means."""
    source = request.data.source
    if request.people or request.count:
        # a refusal of a broken row would tell of it outside the noise
        rows = (replace(request.data, broken="drop") if request.count else request.data).rows(progress)
        people, where = request.people, TWIN
        if request.count:
            people = noisy_count(rows, request.count, request.seed, request.ledger)
            where = f"measured on a generated twin of {people:,} people; counting them spent epsilon {request.count:g}"
        public = as_catalogue(request.catalogue)
        many = request.items or (len(public.items) if public is not None and public.items is not None else 0)
        items = f",items={many}" if many else ""
        # of the data it is known which columns they have, as the release will show it, and perhaps the noisy count
        return sample(f"{WORLDS[rows.kind]}?users={people}{items}"), where
    if request.items:
        raise RecveilError("--items says how large a twin is; say with --people how many are in it")
    if isinstance(source, str) and source.startswith(SAMPLE):
        return request.data.rows(progress), STAND_IN
    if name.startswith("dp-") and not request.on_data:
        raise RecveilError(
            f"{name} makes a promise, and tuning on the data would break it: declare a size with --people 100000 to "
            "tune on a generated twin, have people counted with noise (--count 0.1), name a sample such as "
            "sample:sessions as DATA, or say --on-data"
        )
    return request.data.rows(progress), ON_DATA


def noisy_count(rows: Interactions, epsilon: float, seed: int | None, ledger: str | None) -> int:
    """How many people (or sessions) there are, with exact noise, to two digits; entered before the noise is drawn."""
    unit = rows.unit
    promise = Guarantee(
        f"The number of {unit}s was published with noise of epsilon {epsilon:g}.",
        status="proved",
        epsilon=epsilon,
        unit=unit,
        neighbours=NEIGHBOURS[unit],
        proof="docs/guarantees/noise.md",
    )
    if ledger:
        book.into(ledger)("count", promise if seed is None else promise.as_experiment())
    noise = int(draw(laplace(1 / Fraction(str(epsilon))), 1, source(seed).derive("count"))[0])
    there = len(np.unique(rows.user))
    return max(FEWEST, int(float(f"{there + noise:.2g}")))
