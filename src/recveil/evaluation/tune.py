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
from recveil.dp.noise import draw, laplace
from recveil.errors import RecveilError, unknown
from recveil.evaluation.cache import fingerprint
from recveil.evaluation.tuning import Tuned, Tuner
from recveil.evaluation.tuning.bounds import tune_bound
from recveil.evaluation.tuning.mask import tune_mask
from recveil.evaluation.tuning.usefulness import tune_usefulness, usefulness_bound
from recveil.mechanisms import known_mechanisms
from recveil.mechanisms.spec import may_prove, parse
from recveil.options import asked, option, part
from recveil.randomness import source
from recveil.releases import ledger as ledgers
from recveil.releases.asked import ITEMS, SEED, mechanism
from recveil.releases.catalogue import Catalogue, as_catalogue, read_catalogue, shared, tells
from recveil.releases.counting import enter_count
from recveil.releases.inputs import SAMPLE, Input
from recveil.releases.progress import SILENT, Progress
from recveil.samples import sample

WORLDS = {"ratings": "films", "clicks": "sessions", "sessions": "sessions", "tags": "tags"}
TWIN = "measured on a generated twin: no row of the data was looked at, and nothing was spent"
FEWEST = 100  # people of a twin, however few were counted
STAND_IN = "measured on a generated sample: nothing was spent"
# By what a mechanism's class says (tuned_by).
TUNERS: dict[str, Tuner] = {"ratio": tune_mask, "rungs": tune_bound}
ON_DATA = "the choice was made on the true data, and no guarantee covers that; keep the curve to yourself"


@dataclass(frozen=True)
class TuneRequest:
    """`people` and `twin_items` declare the size of a generated twin, on which is measured instead of on the data.

    `count`: count the people for that twin with noise of this epsilon. `ledger`: enter there what that spends, and that
    the data were looked at, if they are.
    `keep`: a bound such as lift>=0.7, skill>=0.8, agreement>=0.8 or linkage@8<=0.1. `on_data`: measure on the data
    themselves, although the mechanism makes a promise. `items`: the public file over which is released; a twin has as
    many items as the list, and its own are then taken to be public.
    """

    data: Input = part(Input, "source", "columns", "schema", "types", "duplicates")
    spec: str = asked(mechanism("A mechanism that can be tuned, such as mask."))
    keep: str | None = option(
        None, metavar="BOUND", help="Such as lift>=0.7, skill>=0.8, agreement>=0.8 or linkage@8<=0.1."
    )
    people: int | None = option(None, metavar="N", help="Measure on a generated twin with so many people, not on DATA.")
    twin_items: int | None = option(None, metavar="N", help="And with so many items.")
    on_data: bool = option(False, "--on-data", help="Measure on DATA, although no promise covers what is found there.")
    seed: int | None = asked(SEED, None)
    items: Any = asked(ITEMS, None)
    count: float | None = option(None, metavar="EPSILON", help="Or with as many as there are, counted with this noise.")
    ledger: str | None = option(None, metavar="FILE", help="Enter what --count spends, or that DATA were looked at.")

    def __post_init__(self) -> None:
        if self.count is not None and not 0 < self.count <= 1:
            raise RecveilError(f"--count is an epsilon above 0 and at most 1, such as 0.1, not {self.count:g}")
        if self.count is not None and self.people is not None:
            raise RecveilError("--people declares the number, --count counts it; give one of the two")


def run_tune(request: TuneRequest, progress: Progress = SILENT) -> Tuned:
    """What was found, with a line on what it was measured on and what that costs."""
    name = request.spec.partition(":")[0]
    bound = usefulness_bound(request.keep)
    able = {n: m for n, m in known_mechanisms().items() if m.strength or m.tuned_by}
    if name not in able:
        raise unknown("mechanism to tune", name, able)
    if bound is None and not able[name].tuned_by:
        raise RecveilError(f"{name} is tuned to what must still work: give a bound, such as --keep 'lift>=0.7'")
    # Tuned to a bound, a mechanism is let out with the value that was found; by itself, with what its tuner says of it.
    proved = may_prove(request.spec) if bound is not None else parse(request.spec).is_proved
    rows, where, twin = _measured_on(request, name, proved, progress)
    lists = shared(request.items, rows) if twin is None else _lists_of_twin(request, rows, twin)

    def show(done: int, of: int) -> None:
        progress.step(f"tune {name}", done, of)

    if bound is not None:
        found = tune_usefulness(rows, request.spec, bound, request.seed, show, lists)
        return Tuned(found.spec, (*found.lines, where), {**found.found, "measured_on": where}, found.chart)
    rows = rows if lists is None else lists.over(rows)
    return TUNERS[able[name].tuned_by](rows, request.spec, request.keep, request.seed, show)


def _lists_of_twin(request: TuneRequest, rows: Interactions, twin: str) -> Catalogue | None:
    """What is public of a twin: its file of items where the owner has one that tells items apart, else its items."""
    given = as_catalogue(request.items)
    if given is None:
        return None
    return read_catalogue(f"{SAMPLE}{twin}") if tells(given) else Catalogue(rows.items)


def _measured_on(
    request: TuneRequest, name: str, proved: bool, progress: Progress
) -> tuple[Interactions, str, str | None]:
    """The rows to measure on, what that means, and the name of the twin, if that is one."""
    data = request.data
    if proved or request.people or request.count:  # a refusal of a broken row would tell of it outside any noise
        data = replace(data, broken="drop")
    if request.people or request.count:
        rows = data.rows(progress)
        people, where = request.people, TWIN
        if request.count:
            people = noisy_count(rows, request.count, request.seed, request.ledger)
            where = f"measured on a generated twin of {people:,} people; counting them spent epsilon {request.count:g}"
        public = as_catalogue(request.items)
        many = request.twin_items or (len(public.items) if public is not None and public.items is not None else 0)
        items = f",items={many}" if many else ""
        # of the data it is known which columns they have, as the release will show it, and perhaps the noisy count
        twin = f"{WORLDS[rows.kind]}?users={people}{items}"
        return sample(twin), where, twin
    if request.twin_items:
        raise RecveilError("--twin-items says how large a twin is; say with --people how many are in it")
    if data.is_sample:
        return data.rows(progress), STAND_IN, None
    if proved and not request.on_data:
        raise RecveilError(
            f"{name} makes a promise, and tuning on the data would break it: declare a size with --people 100000 to "
            "tune on a generated twin, have people counted with noise (--count 0.1), name a sample such as "
            "sample:sessions as DATA, or say --on-data"
        )
    rows = data.rows(progress)
    ledgers.look(request.ledger, "tune", [request.spec], lambda: fingerprint(rows))
    return rows, ON_DATA, None


def noisy_count(rows: Interactions, epsilon: float, seed: int | None, ledger: str | None) -> int:
    """How many people (or sessions) there are, with exact noise, to two digits; entered before the noise is drawn."""
    enter_count(f"{rows.unit}s", rows.unit, epsilon, seed, ledger)
    noise = int(draw(laplace(1 / Fraction(str(epsilon))), 1, source(seed).derive("count"))[0])
    there = len(np.unique(rows.user))
    return max(FEWEST, int(float(f"{there + noise:.2g}")))
