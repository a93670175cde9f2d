"""How near SASRec and GRU4Rec come to printed numbers: everybody's last item, told among all that she has not rated.

    python benchmarks/next_item.py export DATA FILE     streams of MovieLens 1M, to be carried to a machine with a GPU
    python benchmarks/next_item.py run FILE [NAME ...]  there: trains and judges; it needs torch and numpy alone

NAME is one of sasrec, gru4rec and printed, which is sasrec with dropout .1 and rate .001, as Klenitskiy and Vasilev
(Turning dross into gold loss, 2023) have them. They print HR@10 .315 and NDCG@10 .182. Intervals are over people.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SETTINGS: dict[str, dict[str, Any]] = {
    "sasrec": {"kind": "attention"},
    "gru4rec": {"kind": "recurrent"},
    "printed": {"kind": "attention", "dropout": 0.1, "rate": 0.001},
}


def export(data: Path, file: Path) -> None:
    """Streams in each person's order, by codes alone."""
    import polars as pl

    rows = pl.read_parquet(data / "ml-1m" / "ratings.parquet").sort("user", "order")
    item = rows["item"].rank("dense").to_numpy() - 1
    np.savez_compressed(file, sizes=rows.group_by("user", maintain_order=True).len()["len"].to_numpy(), item=item)


def alone(name: str) -> Any:
    """A module of the recommenders without its package, which needs more than is there."""
    path = Path(__file__).parent.parent / "src" / "recveil" / "evaluation" / "recommenders" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not there")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def judged(file: Path, name: str) -> None:
    networks = alone("networks")
    found = np.load(file)
    item, ends = found["item"].astype(np.int64), np.cumsum(found["sizes"].astype(np.int64))
    begins = np.append(0, ends[:-1])
    items = int(item.max()) + 1
    last = np.zeros(len(item), dtype=bool)
    last[ends - 1] = True
    starts = np.append(0, np.cumsum(found["sizes"].astype(np.int64) - 1))
    begin = time.perf_counter()
    made = networks.learn(starts, item[~last], items, networks.NetworkSettings(**SETTINGS[name]), 0)
    seconds = time.perf_counter() - begin
    ranks = []
    for at in range(0, len(begins), 512):
        first, end = begins[at : at + 512], ends[at : at + 512] - 1
        for row, a, b in zip(made.scores(item, first, end), first, end, strict=True):
            wanted = row[item[b]]
            row[item[a:b]] = -np.inf
            ranks.append(1 + int(np.count_nonzero(row > wanted)))
    rank = np.array(ranks)
    hit, gain = rank <= 10, np.where(rank <= 10, 1 / np.log2(rank + 1), 0.0)
    shown = [f"{v.mean():.4f} +- {1.96 * v.std() / np.sqrt(len(v)):.4f}" for v in (hit, gain)]
    print(
        f"{name}: HR@10 {shown[0]}, NDCG@10 {shown[1]}; {made.rounds} rounds, {seconds:.0f} s {made.note}", flush=True
    )


if __name__ == "__main__" and len(sys.argv) > 2:
    step, where, *rest = sys.argv[1:]
    if step == "export":
        export(Path(where), Path(rest[0]))
    else:
        for name in rest or SETTINGS:
            judged(Path(where), name)
