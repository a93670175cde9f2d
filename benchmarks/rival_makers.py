"""Rivals that run where the data are: mechanisms of this project, a Markov chain, and other people's synthesizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from open.methods.markov import walked
from open.methods.mostly import streamed as mostly
from open.methods.sdv_par import streamed as par

from recveil.data import Interactions
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.spec import parse
from recveil.randomness import seeded
from recveil.releases.release import publish, release

if TYPE_CHECKING:
    pass

Maker = Callable[[Interactions, int], Interactions]
PEERS = {"sdv": "PAR of SDV", "mostlyai.engine": "the engine of MOSTLY AI"}


def missing(module: str) -> bool:
    try:
        return find_spec(module) is None
    except ModuleNotFoundError:
        return True


LEFT_OUT = [f"{name}: pip install 'recveil[peers]' brings it" for module, name in PEERS.items() if missing(module)]


def others(name: str, epsilons: Sequence[float], delta: float) -> dict[str, Maker]:
    """By what they are called in the table. microaggregation compares everybody with everybody: for Yahoo alone."""
    found: dict[str, Maker] = {
        "real data": lambda rows, _: rows,
        "markov": lambda rows, seed: walked(rows.ordered(), np.random.default_rng(seed)),
    }
    for epsilon in epsilons:
        found[f"dp-streams-{epsilon:g}"] = lambda rows, seed, e=epsilon: private(rows, e, delta, seed)
    for spec in ("mbrw", *(("microaggregation:k=5",) if name == "yahoo" else ())):
        found[spec] = lambda rows, seed, s=spec: release(rows, parse(s), seed=seed).data.over_items(rows.items)
    if not missing("sdv") and name == "yahoo":
        found["sdv PAR, 200 people"] = par
    if not missing("mostlyai.engine") and name == "yahoo":
        found["mostly ai"] = mostly
    return found


def private(rows: Interactions, epsilon: float, delta: float, seed: int) -> Interactions:
    """dp-streams with the public catalogue, as many streams as there are people."""
    mechanism = DpStreams(epsilon=epsilon, delta=delta, k=rows.n_users)
    public = PublicInfo(rows.kind, rows.unit, rows.items, None, True)
    rounds = publish(rows, mechanism, public, seeded(seed)).rounds
    return mechanism.draw(rounds, public, seeded(seed).derive("draw")).rows
