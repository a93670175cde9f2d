"""dp-streams: what recommenders learn from a release, and what an attacker does. Means with 95% intervals.

    python benchmarks/dp_streams_quality.py [yahoo] [blocks]
    python benchmarks/dp_streams_quality.py controls    of blocks what needs no release
    python benchmarks/dp_streams_quality.py order FILE [yahoo] [diginetica]

Yahoo sample: 4 splits x 2 seeds of the noise, k = n, delta 1e-5, public catalogue 0..4999; intervals are Student's over
the 4 splits; nothing here was tuned on it. Blocks: MovieLens 1M in each person's order, cut into sessions of 20
ratings; 2 splits, one seed, items selected. It takes about ten minutes on one core.

order: what two versions of dp-streams keep of the order of clicks, on the same splits and seeds. The first writes
FILE; the second finds it there and shows both and their differences, with Student's intervals over means of splits.
Yahoo: 4 splits x 5 seeds. Diginetica: the two splits of rivals.py, one seed.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from places import FOLDER
from scipy import sparse, stats

from recveil.data import Floats, Interactions, from_ids
from recveil.evaluation.attacks.membership import membership
from recveil.evaluation.metrics.ranking import evaluate, relevant
from recveil.evaluation.recommenders.ease import EASE
from recveil.evaluation.recommenders.items_alone import items_alone
from recveil.evaluation.recommenders.neighbours import ItemKNN, UserKNN
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.evaluation.recommenders.ranker import Model
from recveil.formats.item_file import public_items, read_item_file
from recveil.measurement import Trial
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.dp_streams.drawing import draw_streams
from recveil.mechanisms.dp_streams.lists import similarity
from recveil.randomness import seeded
from recveil.releases.release import publish, release
from recveil.splits import QuerySplit, before_and_after, horizontal
from recveil.views.transitions import transitions

DATA = FOLDER
MODELS = {"ItemKNN": ItemKNN(k=15), "EASE": EASE(penalty=300, items=1000), "UserKNN": UserKNN(k=80)}
HEAD = 50  # items whose absence makes the tail
Row = dict[str, float]


@dataclass(frozen=True, eq=False)
class Filled:
    """A model whose lists are filled up by popularity; items of the head may be left out."""

    model: Model
    popular: Floats
    head: Any = ()

    def scores(self, query: Interactions, history: Any, users: Any) -> Floats:
        scores = self.model.scores(query, history, users)
        told = np.isfinite(scores)
        least = np.min(scores, where=told, initial=0.0) - 1
        scores = np.where(told, scores, least + self.popular / max(self.popular.max(), 1.0))
        scores[:, self.head] = -np.inf
        return scores


@dataclass(frozen=True, eq=False)
class Direct:
    """Item similarities straight from the noisy tables."""

    kept: Any
    S: Any

    def scores(self, query: Interactions, history: Any, users: Any) -> Floats:
        scores = np.zeros(history.shape)
        scores[:, self.kept] = (history[:, self.kept] @ self.S).toarray()
        scores[scores == 0] = -np.inf
        return scores


def utility(model: Model, data: Interactions, split: QuerySplit) -> dict[str, Any]:
    """Recall@5 of each test person, the same without the head, and how many different items the lists show."""
    people = np.bincount(data.matrix(binary=True).indices, minlength=data.n_items).astype(np.float64)
    real = np.bincount(split.train.matrix(binary=True).indices, minlength=data.n_items)
    head = np.argsort(-real, kind="stable")[:HEAD]
    wanted = relevant(split.query, split.result)
    made = evaluate(Filled(model, people), split.query, wanted, 5)
    rest = sparse.csr_array(wanted @ sparse.diags_array((~np.isin(np.arange(data.n_items), head)).astype(float)))
    rest.eliminate_zeros()
    tail = evaluate(Filled(model, people, head), split.query, rest, 5)
    return {
        "recall@5": made.values["recall"], "tail": tail.values["recall"], "shown": len(np.unique(made.lists[:1000])),
    }  # fmt: skip


def next_item(data: Interactions, test: Interactions) -> float:
    """How often the next item is among the five that most often follow the present one; all moves of test people."""
    follows = transitions(data).ds.toarray()
    test = test.ordered()
    same = np.diff(test.user) == 0
    now, after = test.item[:-1][same], test.item[1:][same]
    best = np.argsort(-follows, axis=1, kind="stable")[:, :5]
    hit = (best[now] == after[:, None]) & (np.take_along_axis(follows, best, 1)[now] > 0)
    return float(hit.any(1).mean())


def made_from(train: Interactions, mechanism: DpStreams, seed: int, **how: Any) -> tuple[Interactions, Any]:
    """A release over the public catalogue, seeded, and its tables."""
    public = PublicInfo(train.kind, train.unit, train.items, None, True)
    tables = mechanism.tables(publish(train, mechanism, public, seeded(seed)).rounds, public)
    k = None if mechanism.k == "auto" else int(mechanism.k)
    return draw_streams(tables, public, k, seeded(seed).derive("draw"), **how), tables


def shuffled(train: Interactions) -> Interactions:
    """The same popularity and lengths, with no structure."""
    return replace(train, item=np.random.default_rng(1).permutation(train.item))


def attacked(train: Interactions, others: Interactions, mechanism: DpStreams, seed: int) -> Row:
    """AUC of a thousand members against strangers, with them in the data and without them."""
    rng = np.random.default_rng(seed)
    present = np.unique(train.user)
    chosen = rng.choice(present, 1000, replace=False)
    members, rest = train.take_users(chosen), train.take_users(np.setdiff1d(present, chosen))
    found: Row = {}
    for arm, rows in (("members in", train), ("control", rest)):
        released, _ = made_from(rows, mechanism, seed)
        trial = Trial(members.compact().over_items(train.items), released, others.compact().over_items(train.items))
        for m in membership(trial, rng):
            if m.name == "membership-auc":
                found[f"AUC {m.params['score']}, {arm}"] = m.value
    return found


def yahoo() -> None:
    rows = pl.read_parquet(DATA / "yahoo-music-mbrw" / "ratings.parquet")
    data = from_ids(rows["user"], rows["item"], time=rows["order"].to_numpy()).over_items(pl.Series(np.arange(5000)))
    found: dict[str, list[Row]] = defaultdict(list)
    for number in range(4):
        train, test = horizontal(data, 0.9, np.random.default_rng(number))
        split = QuerySplit(train, *before_and_after(test, np.random.default_rng(0)))
        n = len(np.unique(train.user))
        found["real"].append(judged(train, split, test))
        found["most popular"].append(average(utility(MostPopular().fit(train, 0), train, split)))
        for epsilon in (1.0, 4.0):
            mechanism = DpStreams(epsilon=epsilon, delta=1e-5, k=n)
            runs: dict[str, list[Row]] = defaultdict(list)
            for seed in (1, 2):
                released, tables = made_from(train, mechanism, seed)
                direct = average(utility(Direct(tables.kept, similarity(tables)), released, split), "direct ")
                runs["release"].append(judged(released, split, test) | direct | {"items": float(len(tables.kept))})
            for what, rows_, how in (("no swaps", train, {"sweeps": 0}), ("null", shuffled(train), {})):
                other, _ = made_from(rows_, mechanism, 1, **how)
                runs[what] = [average(utility(MODELS["ItemKNN"].fit(other, 0), other, split), "ItemKNN ")]
            runs["attacks"] = [attacked(train, test, mechanism, 1)]
            for what, each in runs.items():
                found[f"epsilon {epsilon:g}, {what}"].append({k: np.mean([r[k] for r in each]) for k in each[0]})
    for what, each in found.items():
        print(f"yahoo, {what}")
        for key in each[0]:
            values = np.array([r[key] for r in each])
            half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
            print(f"  {key:<28}{values.mean():9.4f} +- {half:.4f}")


def judged(data: Interactions, split: QuerySplit, test: Interactions) -> Row:
    found: Row = {}
    for name, model in MODELS.items():
        found |= average(utility(model.fit(data, 0), data, split), f"{name} ")
    return found | {"next item HR@5": next_item(data, test)}


def average(found: dict[str, Any], prefix: str = "") -> Row:
    return {prefix + k: float(np.mean(v)) for k, v in found.items()}


def alone(name: str, split: QuerySplit) -> dict[str, Any]:
    """What the file of items recommends by itself: the floor of every release."""
    path = DATA / name / "items.parquet"
    facts = public_items(read_item_file(path), str(path)).over(split.train.items)
    return utility(items_alone(facts), split.train, split)


def blocks(releases: bool = True) -> None:
    rows = pl.read_parquet(DATA / "ml-1m" / "ratings.parquet").sort("user", "order")
    rows = rows.with_columns(block=pl.int_range(pl.len()).over("user") // 20, time=pl.int_range(pl.len()))
    items = rows["item"].unique().sort()
    mechanism = DpStreams(epsilon=4.0, delta=1e-6)
    for number in range(2):
        rng = np.random.default_rng(number)
        held = rows["user"].unique().sort().sample(fraction=0.1, seed=number)
        train = rows.filter(~pl.col("user").is_in(held.implode()))
        full = rows.filter(pl.col("user").is_in(held.implode())).filter(pl.len().over("user", "block") == 20)
        shown = full.filter(pl.col("block") == pl.col("block").sample(1, seed=number).first().over("user"))
        test = in_blocks(shown, items)
        real = in_blocks(train, items)
        split = QuerySplit(real, *before_and_after(test, rng))
        sizes = f"{train['user'].n_unique():,} people, {real.n_users:,} blocks, {test.n_users} asked"
        print(f"blocks, split {number}: {sizes}")
        print(f"  public items alone {alone('ml-1m', split)['recall@5'].mean():.4f}")
        if not releases:
            continue
        people = from_ids(train["user"], train["item"], time=train["time"].to_numpy(), session=train["block"])
        made = {"real blocks": real} | {
            name: release(data, mechanism, seed=number).data.over_items(items)
            for name, data in (
                ("people with their sessions", people),
                ("people, sessions merged", replace(people, session=None)),
                ("sessions one by one", real),
            )
        }
        for name, data in made.items():
            found = [utility(MODELS[m].fit(data, 0), data, split)["recall@5"].mean() for m in ("ItemKNN", "EASE")]
            print(f"  {name:<28} ItemKNN {found[0]:.4f}, EASE {found[1]:.4f}, {len(np.unique(data.item)):,} items")
        popular = made["people with their sessions"]
        print(f"  most popular {utility(MostPopular().fit(popular, 0), popular, split)['recall@5'].mean():.4f}")


def order(file: Path, names: list[str]) -> None:
    from rivals import moves, splits

    found: dict[str, Row] = {}
    for name in names:
        for number, split, test in splits(name):
            for epsilon in (1.0, 4.0):
                mechanism = DpStreams(epsilon=epsilon, delta=1e-5, k=len(np.unique(split.train.user)))
                if not found:
                    made_from(split.train, mechanism, 1)  # compiles, so that no second below does
                for seed in range(1, 6 if name == "yahoo" else 2):
                    begin = time.process_time()
                    released, _ = made_from(split.train, mechanism, seed)
                    row = {"seconds": time.process_time() - begin, "next HR@5": moves(released, test)}
                    for judge in ("ItemKNN", "EASE"):
                        row[judge] = average(utility(MODELS[judge].fit(released, 0), released, split))["recall@5"]
                    found[f"{name}, epsilon {epsilon:g}|{number}|{seed}"] = row
                    print(
                        f"{name}, epsilon {epsilon:g}, split {number}, seed {seed}: {row}", file=sys.stderr, flush=True
                    )
    if not file.exists():
        file.write_text(json.dumps(found, indent=1))
        return
    before = json.loads(file.read_text())
    for what in dict.fromkeys(key.split("|")[0] for key in found):
        pairs = [key for key in found if key.startswith(what + "|") and key in before]
        numbers = sorted({key.split("|")[1] for key in pairs})
        for judge in found[pairs[0]]:
            each = [[(before[k][judge], found[k][judge]) for k in pairs if k.split("|")[1] == n] for n in numbers]
            means = np.array([np.mean(rows, axis=0) for rows in each])
            gain = means[:, 1] - means[:, 0]
            half = stats.t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain))
            was, is_ = means.mean(0)
            print(f"{what:<24}{judge:<12}{was:.4f} -> {is_:.4f}, {gain.mean():+.4f} +- {half:.4f}")


def in_blocks(rows: pl.DataFrame, items: pl.Series) -> Interactions:
    """Every block a session of nobody in particular."""
    names = rows["user"].cast(pl.Int64) * 1000 + rows["block"]
    return from_ids(names, rows["item"], time=rows["time"].to_numpy(), unit="session").over_items(items)


if __name__ == "__main__":
    if sys.argv[1:2] == ["order"]:
        order(Path(sys.argv[2]), sys.argv[3:] or ["yahoo"])
        raise SystemExit
    if sys.argv[1:2] == ["controls"]:
        blocks(releases=False)
        raise SystemExit
    asked = sys.argv[1:] or ["yahoo", "blocks"]
    for run in (yahoo, blocks):
        if run.__name__ in asked:
            run()
