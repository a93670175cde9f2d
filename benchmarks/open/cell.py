"""One process of the benchmark: some methods on one split of one data set. A line of JSON for each cell.

    python benchmarks/open/cell.py DATA SPLIT '[["use", METHOD, EPSILON], ["attack", METHOD, null]]' [THIN]

What a method raises is a result: a refusal in its own words, or the error that it failed with.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from data_sets import SETS, load
from judges import judged
from protocols import DELTA, PROTOCOLS, Task, task

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.attacks.shadow import shadow
from recveil.evaluation.shadows import Halves, of_halves
from recveil.measurement import Trial

ATTACKED = 2000  # people at most whom shadows are made of
SHADOWS = 16

Row = dict[str, Any]


def made_by(method: Any, given: Task, epsilon: float | None, seed: int) -> list[Any]:
    """Rows or models: one, or several settings of which the best for the search people will count."""
    sampler = method.fit(given.train, given.public, math.inf if epsilon is None else epsilon, DELTA, seed)
    several = sampler if isinstance(sampler, list) else [sampler]
    return [s if hasattr(s, "scores") else s(seed).over_items(given.public.items) for s in several]


def used(method: Any, given: Task, hits: str, epsilon: float | None, split: int) -> Row:
    peak(begin=True)
    begin = time.process_time()
    made = made_by(method, given, epsilon, split)
    seconds, gigabytes = time.process_time() - begin, peak()
    begin = time.process_time()
    found = max((judged(one, given, hits) for one in made), key=lambda row: row.get("search", 0.0))
    cost = {"cpu_s": seconds, "judging_cpu_s": time.process_time() - begin, "gb": gigabytes}
    return {"figures": found, **cost, **getattr(method, "cost", dict)()}


def attacked(method: Any, given: Task, epsilon: float | None) -> Row:
    """Membership by shadows, of halves of some of the people."""
    train = given.train
    few = np.random.default_rng([len(train), *b"few"]).permutation(train.n_users)[:ATTACKED]
    data = train.take_users(few).compact().over_items(train.items)

    def make(half: Interactions, seed: int) -> Interactions:
        half = half.over_items(train.items).canonical()
        (made, *_) = made_by(method, Task(half, given.public, given.search, given.test, given.n), epsilon, seed)
        if not isinstance(made, Interactions):
            raise RecveilError("it publishes no rows, and this attack reads rows")
        return made

    make(data.take_users(np.arange(data.n_users // 2)).compact(), 0)  # what cannot be attacked is known at once
    begin = time.process_time()
    shadows = of_halves(data, make, Halves(shadows=SHADOWS))
    found = shadow(Trial(data, data, shadows=(shadows,)), np.random.default_rng(0))
    told = {
        m.name if m.name == "shadow-auc" else f"{m.name} {m.params['fpr']:g}": [m.value, m.low, m.high, m.control]
        for m in found
        if m.name == "shadow-auc" or m.params.get("fpr") == 0.01
    }
    return {"attack": told, "people": data.n_users, "shadows": SHADOWS, "cpu_s": time.process_time() - begin}


def peak(begin: bool = False) -> float:
    """The most memory of this process since the last beginning, in GB; where nobody can tell, since its start."""
    try:
        if begin:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def row_of(kind: str, method: str, epsilon: float | None, given: Task, hits: str, split: int) -> Row:
    try:
        module = import_module(f"methods.{method}")
        if kind == "attack":
            return attacked(module, given, epsilon)
        return used(module, given, hits, epsilon, split)
    except RecveilError as reason:
        return {"status": "refused", "reason": " ".join(str(reason).split())}
    except MemoryError:
        return {"status": "failed", "reason": "out of memory"}
    except Exception as error:
        return {"status": "failed", "reason": " ".join(f"{type(error).__name__}: {error}".split())[:300]}


def end_with(parent: int) -> None:
    """Nobody reads what is still being made once the run was stopped."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main(name: str, split: str, jobs: str, thin: str = "") -> None:
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    chosen = SETS[name]
    given = task(chosen, load(name), int(split), int(thin) if thin else None)
    for kind, method, epsilon in json.loads(jobs):
        row = row_of(kind, method, epsilon, given, PROTOCOLS[chosen.protocol].hits, int(split))
        about = {"kind": kind, "method": method, "epsilon": epsilon, "split": int(split)}
        print(json.dumps({**about, "status": "done", **row}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
