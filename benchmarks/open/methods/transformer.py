"""A small transformer without privacy, two blocks of 64 units; the better of two lengths of training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError

HEAVY = "it wants a GPU, or a core for long: python benchmarks/open/tasks.py FOLDER DATA, then gpu.py FOLDER with torch"
CODE: tuple[str, ...] = ()
_spent: dict[str, float] = {}


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int, kind: str = "plain") -> Any:
    from tasks import name_of

    if data.time is None:
        raise RecveilError("the data have no order")
    folder = Path(os.environ.get("RECVEIL_DRAWN") or Path(__file__).parents[3] / "build" / "open")
    task = folder / f"{name_of(data, kind)}.npz"
    files = sorted((folder / "drawn").glob(f"{task.stem}.*.npz"))
    if not files:
        raise RecveilError(f"not run yet: {HEAVY}")
    made = [np.load(file) for file in files]
    seconds, gigabytes = sum(float(m["seconds"]) for m in made), max(float(m["gigabytes"]) for m in made)
    on_gpu = {str(m["device"]) for m in made} == {"cuda"}
    _spent.clear()
    _spent.update({"gpu_s": seconds, "gpu_gb": gigabytes} if on_gpu else {"cpu_s": seconds, "gb": gigabytes})
    kept = np.load(task)["kept"].astype(np.int32)
    return [lambda _, m=m: streams(m, kept, public.items) for m in made]


def cost() -> dict[str, float]:
    """Of all settings together."""
    return dict(_spent)


def streams(made: Any, kept: Any, items: pl.Series) -> Interactions:
    sizes = made["sizes"].astype(np.int64)
    people = np.arange(len(sizes), dtype=np.int32)
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return Interactions(np.repeat(people, sizes), kept[made["item"]], pl.Series(people), items, time=place)
