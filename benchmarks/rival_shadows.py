"""The red team's shadow attack on the transformers of rivals.py: halves of Yahoo out, streams drawn from each in.

    python benchmarks/rival_shadows.py export FOLDER   a task for every half, to be carried to a machine with a GPU
    python benchmarks/open/gpu.py FOLDER               there: trains on each half and draws
    python benchmarks/rival_shadows.py attack FOLDER   AUC of membership, with its interval and a placebo

Plan `pool`: 32 halves to learn from, 8 to be attacked; dp-streams on the same halves stands beside them. The settings
are those that rivals.py found the best; every training begins with the same random numbers.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from rivals import DELTA, PLAIN, PRIVATE, budgeted, streams, task, yahoo

from recveil.data import Interactions
from recveil.evaluation.attacks.shadow import shadow
from recveil.evaluation.shadows import Halves, maker, of_halves
from recveil.measurement import Shadows, Trial
from recveil.mechanisms.dp_streams import DpStreams

EPSILON = 4.0
KINDS = ("plain", f"dp-sgd-{EPSILON:g}")


def halves(data: Interactions) -> Shadows:
    """Who is in which half; what is made of it is the half itself."""
    return of_halves(data, lambda half, _: half.over_items(data.items), Halves())


def export(folder: Path) -> None:
    data = yahoo().compact()
    given = halves(data)
    for number in range(len(given.inside)):
        half = given.made(number)
        task(folder / f"yahoo.{number}.plain.npz", half, np.unique(half.item), PLAIN["yahoo"][1:2], None)
        kept, recipes = budgeted(half, EPSILON, PRIVATE["yahoo"][2:])
        task(folder / f"yahoo.{number}.{KINDS[1]}.npz", half, kept, recipes, None)


def attack(folder: Path) -> None:
    data = yahoo().compact()
    ours = of_halves(data, maker(DpStreams(epsilon=EPSILON, delta=DELTA), data), Halves())
    theirs = {kind: replace(halves(data), made=partial(released, folder, kind, data)) for kind in KINDS}
    for kind, given in {**theirs, f"dp-streams-{EPSILON:g}": ours}.items():
        for m in shadow(Trial(data, data, shadows=(given,)), np.random.default_rng(0)):
            told = {name: value for name, value in m.params.items() if name in ("fpr", "shadows")}
            print(f"{kind}: {m.name} {told} {m.value:.3f} [{m.low:.3f}, {m.high:.3f}], placebo {m.control:.3f}")


def released(folder: Path, kind: str, data: Interactions, number: int) -> Interactions:
    return streams(folder, f"yahoo.{number}.{kind}.0.npz", data.items)[0]


if __name__ == "__main__" and len(sys.argv) > 2:
    (export if sys.argv[1] == "export" else attack)(Path(sys.argv[2]))
