"""What SASRec, a judge of order, learns from each rival of rivals.py, on the same splits.

    python benchmarks/rival_sequences.py export FOLDER [NAME]   tasks for transformers, other releases, questions
    python benchmarks/open/gpu.py FOLDER                        on a machine with a GPU: trains and draws
    python benchmarks/rival_sequences.py judge FOLDER FILE [PART OF PARTS]   there too; torch and numpy alone
    python benchmarks/rival_sequences.py show FILE ...          the table

Transformers have the settings that rivals.py found the best for them. Questions are those of the metric `next-item`: up
to five new items of each held-out person from the middle of her stream on. Two controls stand beside the rivals: the
real data with everybody's order reversed, and with items permuted across people. Intervals are Student's over splits.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from next_item import alone
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recveil.data import Interactions

N = 10
EPSILONS = (1.0, 4.0)
REAL = "real data"
BEST = {  # which recipes of rivals.py did best: plain, and by DP-SGD
    "yahoo": (slice(1, 2), slice(2, 3)),
    "diginetica": (slice(1, 2), slice(1, 2)),
}


def backwards(rows: Interactions, _: int) -> Interactions:
    return replace(rows, time=-rows.time)


def permuted(rows: Interactions, seed: int) -> Interactions:
    """Everybody has as many items as before, and they are anybody's."""
    return replace(rows, item=np.random.default_rng(seed).permutation(rows.item))


CONTROLS = {"everybody's order reversed": backwards, "items permuted across people": permuted}


def export(folder: Path, names: Sequence[str]) -> None:
    from rival_makers import others
    from rivals import DELTA, DRAWN, PLAIN, PRIVATE, budgeted, splits, task

    from recveil.evaluation.metrics.next_item import asked_of

    for part in ("asked", "drawn"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name in names:
        for number, split, _ in splits(name):
            rows, best = split.train, BEST[name]
            task(folder / f"{name}.{number}.plain.npz", rows, np.unique(rows.item), PLAIN[name][best[0]], DRAWN[name])
            for epsilon in EPSILONS:
                kept, recipes = budgeted(rows, epsilon, PRIVATE[name][best[1]])
                task(folder / f"{name}.{number}.dp-sgd-{epsilon:g}.npz", rows, kept, recipes, DRAWN[name])
            streams, person = asked_of(split.query, split.result)
            whole = {"item": streams.item, "begin": streams.begin, "asked": streams.asked, "person": person}
            np.savez(folder / "asked" / f"{name}.{number}.npz", items=rows.n_items, **whole)
            for rival, make in {**others(name, EPSILONS, DELTA), **CONTROLS}.items():
                made = make(rows, number + 1)
                if made.time is not None:
                    sizes = np.bincount((known := made.ordered()).user)
                    path = folder / "drawn" / f"{name}.{number}.{rival}.npz"
                    np.savez(path, sizes=sizes.astype(np.int16), item=known.item.astype(np.uint16))


def judge(folder: Path, file: Path, part: int, parts: int) -> None:
    networks = alone("networks")

    with file.open("a", encoding="utf-8") as out:
        for path in sorted((folder / "drawn").glob("*.npz"))[part::parts]:
            name, number, rival = path.stem.split(".", 2)
            made, asked = np.load(path), np.load(folder / "asked" / f"{name}.{number}.npz")
            items, item = int(asked["items"]), made["item"].astype(np.int64)
            task = folder / f"{path.stem.rpartition('.')[0]}.npz"
            if task.exists():  # of a transformer, over the items that it saw
                item = np.load(task)["kept"].astype(np.int64)[item]
            starts = np.append(0, np.cumsum(made["sizes"].astype(np.int64)))
            trained = networks.learn(starts, item, items, networks.NetworkSettings("attention"), 0)
            found = {"sasrec": reached(asked, trained.scores(asked["item"], asked["begin"], asked["asked"]))}
            if rival == REAL:
                often = np.bincount(item, minlength=items).astype(np.float32)
                found["most popular"] = reached(asked, np.broadcast_to(often, (len(asked["asked"]), items)))
            for referee, (hits, ndcg) in found.items():
                line = {
                    "data": name,
                    "rival": rival,
                    "split": number,
                    "referee": referee,
                    "HR@10": hits,
                    "NDCG@10": ndcg,
                }
                print(json.dumps(line | {"rounds": trained.rounds}), file=out, flush=True)


def reached(asked: Any, scores: NDArray[np.float32]) -> tuple[float, float]:
    """HR@10 and NDCG@10, the means over people, among items that are new to them."""
    rank = np.empty(len(scores))
    for k, (begin, place) in enumerate(zip(asked["begin"], asked["asked"], strict=True)):
        row, mine = scores[k].copy(), asked["item"][place]
        row[asked["item"][begin:place]] = -np.inf
        rank[k] = 1 + np.count_nonzero(row > row[mine]) + np.count_nonzero(row[:mine] == row[mine])
    who = np.unique(asked["person"], return_inverse=True)[1]
    gain = np.where(rank <= N, 1 / np.log2(np.maximum(rank, 1) + 1), 0.0)
    each = np.bincount(who)
    return float(np.mean(np.bincount(who, rank <= N) / each)), float(np.mean(np.bincount(who, gain) / each))


def show(files: list[Path]) -> None:
    from rivals import cell

    rows = defaultdict(list)
    for line in (json.loads(text) for file in files for text in file.read_text().splitlines()):
        rows[line["data"], line["rival"] if line["referee"] == "sasrec" else line["referee"]].append(line)
    print("| data | trained on | splits | HR@10 | NDCG@10 |\n|---|---|---|---|---|")
    for (name, rival), lines in sorted(rows.items(), key=lambda row: -np.mean([line["NDCG@10"] for line in row[1]])):
        cells = (cell([line[metric] for line in lines]) for metric in ("HR@10", "NDCG@10"))
        print(f"| {name} | {rival} | {len(lines)} | " + " | ".join(cells) + " |")


if __name__ == "__main__" and len(sys.argv) > 2:
    step, where, *rest = sys.argv[1:]
    if step == "export":
        export(Path(where), rest or list(BEST))
    elif step == "judge":
        judge(Path(where), Path(rest[0]), *(int(n) for n in rest[1:3] or (0, 1)))
    else:
        show([Path(name) for name in (where, *rest)])
