"""Private synthesis against its rivals on the same work: one split protocol, the same judges, one table.

    python benchmarks/rivals.py export FOLDER [NAME]   tasks for transformers, to be carried to a machine with a GPU
    python benchmarks/open/gpu.py FOLDER               there: trains and draws; it needs torch and numpy alone
    python benchmarks/rivals.py judge FOLDER FILE      releases of the other rivals, and judges for all, as JSON
    python benchmarks/rivals.py show FILE              the table

Yahoo: 4 splits (9 of 10 people to learn from). diginetica, by session: 2 splits, of whose test sessions 3,000 are
judged. delta 1e-5, a public catalogue, the number of people taken to be public. Judges: recall@5 of ItemKNN (k 15) and
EASE (300, the 1,000 most popular items), each filled up by popularity; HR@5 of the next item by a first-order Markov
chain; AUC of membership by distance and by density. Intervals are Student's over splits; of two splits both are shown.
GB is the peak of the whole process so far for what runs on a CPU, and of one training on a GPU.

Of the transformers every setting of a grid is trained on every split, and the best setting of each kind is shown by
the mean of its judges on the test people themselves: a choice in their favour. Those with DP-SGD see the items that
dp-streams would keep, selected with a tenth of the budget, as it does; the plain ones see all.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from dp_streams_quality import MODELS, alone, next_item, utility
from open.accounting import noise_for
from places import FOLDER
from rival_makers import LEFT_OUT, others
from scipy import stats

from recveil.data import Interactions, from_ids
from recveil.evaluation.attacks.membership import membership
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.measurement import Trial
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.dp_streams.counting import UNIT
from recveil.randomness import seeded
from recveil.splits import QuerySplit, before_and_after, horizontal

DATA = FOLDER
DELTA = 1e-5
EPSILONS = (1.0, 4.0)
SPLITS = {"yahoo": 4, "diginetica": 2}
DRAWN = {"yahoo": None, "diginetica": 40_000}  # streams of a transformer; None: as many as there are people
PLAIN = {
    "yahoo": ({"epochs": 10}, {"epochs": 20}, {"epochs": 40, "dropout": 0.3}),
    "diginetica": ({"length": 20, "epochs": 4, "batch": 1024}, {"length": 20, "epochs": 8, "batch": 1024}),
}
PRIVATE = {
    "yahoo": (
        {"batch": 512, "rate": 0.002, "epochs": 20},
        {"batch": 1024, "rate": 0.004, "epochs": 40},
        {"batch": 2048, "rate": 0.004, "epochs": 80},
    ),
    "diginetica": (
        {"length": 20, "batch": 2048, "rate": 0.002, "epochs": 6},
        {"length": 20, "batch": 8192, "rate": 0.004, "epochs": 16},
    ),
}
Row = dict[str, float]
Found = dict[str, dict[str, dict[str, Row]]]  # by data set, rival and split


def yahoo() -> Interactions:
    rows = pl.read_parquet(DATA / "yahoo-music-mbrw" / "ratings.parquet")
    data = from_ids(rows["user"], rows["item"], time=rows["order"].to_numpy())
    return data.over_items(pl.Series(np.arange(5000)))


def diginetica() -> Interactions:
    clicks = pl.read_parquet(DATA / "diginetica" / "sessions.parquet")
    flat = clicks.explode("clicks", empty_as_null=False).drop_nulls()
    return from_ids(flat["session"], flat["clicks"], time=np.arange(len(flat)), unit="session")


SETS: dict[str, Callable[[], Interactions]] = {"yahoo": yahoo, "diginetica": diginetica}


def splits(name: str) -> Iterator[tuple[int, QuerySplit, Interactions]]:
    data = SETS[name]()
    for number in range(SPLITS[name]):
        train, test = horizontal(data, 0.9, np.random.default_rng(number))
        test = test.take_users(np.unique(test.user)[:3000])
        train = train.compact().over_items(data.items)
        yield number, QuerySplit(train, *before_and_after(test, np.random.default_rng(0))), test


# --- transformers: tasks out, drawn streams in -------------------------------------------------------------------


def export(folder: Path, names: Sequence[str]) -> None:
    """A file for each split and kind: streams coded over the items that it sees, and the recipes to be tried."""
    for name in names:
        for number, split, _ in splits(name):
            rows = split.train
            task(folder / f"{name}.{number}.plain.npz", rows, np.unique(rows.item), PLAIN[name], DRAWN[name])
            for epsilon in EPSILONS:
                kept, recipes = budgeted(rows, epsilon, PRIVATE[name])
                task(folder / f"{name}.{number}.dp-sgd-{epsilon:g}.npz", rows, kept, recipes, DRAWN[name])


def budgeted(rows: Interactions, epsilon: float, given: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The items that dp-streams would keep, and recipes with the noise that the rest of the budget asks for."""
    mechanism = DpStreams(epsilon=epsilon, delta=DELTA)
    public = PublicInfo(rows.kind, rows.unit, rows.items, None, True)
    kept = mechanism.kept(first_round(rows, mechanism, public), public)
    selection = float(np.sqrt(mechanism.variances(public)[0])) / UNIT
    budget = {"epsilon": epsilon, "delta": DELTA, "selection": selection, "people": rows.n_users}
    noises = [noise_for(epochs=r["epochs"], batch=r["batch"], **budget) for r in given]
    return kept, [{**r, **budget, "noise": noise} for r, noise in zip(given, noises, strict=True)]


def first_round(rows: Interactions, mechanism: DpStreams, public: PublicInfo) -> tuple[Any, ...]:
    counts = mechanism.count(rows.ordered(), (), public)
    return (mechanism.publish(counts, (), public, seeded(1)),)


def task(path: Path, rows: Interactions, kept: Any, recipes: Sequence[Any], k: int | None) -> None:
    place = np.full(rows.n_items, -1)
    place[kept] = np.arange(len(kept))
    known = rows.ordered()
    known = known.take(place[known.item] >= 0)
    sizes = np.bincount(known.user, minlength=known.n_users)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        sizes=sizes[sizes > 0].astype(np.int16),
        item=place[known.item].astype(np.uint16),
        kept=kept.astype(np.uint16),
        k=k or rows.n_users,
        recipes=json.dumps(list(recipes)),
    )


def drawn(
    folder: Path, name: str, number: int, items: pl.Series, known: set[str]
) -> Iterator[tuple[str, Interactions, Row]]:
    """What transformers drew of one split."""
    for path in sorted((folder / "drawn").glob(f"{name}.{number}.*.npz")):
        rival = ".".join(path.name.split(".")[2:-1])
        if rival in known:
            continue
        yield rival, *streams(folder, path.name, items)


def streams(folder: Path, name: str, items: pl.Series) -> tuple[Interactions, Row]:
    """What was drawn into this file, and what it cost."""
    made = np.load(folder / "drawn" / name)
    people = np.arange(len(made["sizes"]), dtype=np.int32)
    user = np.repeat(people, made["sizes"])
    time_ = np.concatenate([np.arange(s) for s in made["sizes"]])
    kept = np.load(folder / (name.rsplit(".", 2)[0] + ".npz"))["kept"].astype(np.int32)
    rows = Interactions(user, kept[made["item"]].astype(np.int32), pl.Series(people), items, time=time_)
    return rows, {"GPU s": float(made["seconds"]), "GB": float(made["gigabytes"])}


# --- judges ------------------------------------------------------------------------------------------------------


def judged(made: Interactions, split: QuerySplit, test: Interactions) -> Row:
    found: Row = {}
    for name in ("ItemKNN", "EASE"):
        found[name] = float(utility(MODELS[name].fit(made, 0), made, split)["recall@5"].mean())
    found["next HR@5"] = moves(made, test) if made.time is not None else float("nan")
    rng = np.random.default_rng(0)
    members = split.train.take_users(rng.permutation(split.train.n_users)[:1000])
    trial = Trial(members.compact().over_items(made.items), made, test.compact().over_items(made.items))
    for m in membership(trial, rng):
        if m.name == "membership-auc":
            found[f"AUC {m.params['score']}"] = m.value
    return found


def moves(made: Interactions, test: Interactions) -> float:
    """next_item over the items that occur, so that the table of moves stays small."""
    if made.n_items <= 5000:
        return next_item(made, test)
    from recveil.views.transitions import direct_sequence

    follows = direct_sequence(made.ordered())
    test = test.ordered()
    same = np.diff(test.user) == 0
    hits = 0
    for now, after in zip(test.item[:-1][same], test.item[1:][same], strict=True):
        part = slice(follows.indptr[now], follows.indptr[now + 1])
        best = follows.indices[part][np.lexsort((follows.indices[part], -follows.data[part]))[:5]]
        hits += int(after in best)
    return hits / int(same.sum())


def judge(folder: Path, file: Path, names: Sequence[str]) -> None:
    """Judge what is named (yahoo, or one split of it: yahoo.0), and write it into the file beside what is there."""
    found: Found = json.loads(file.read_text()) if file.exists() else {}
    for name in SETS:
        wanted = {int(n.rpartition(".")[2]) for n in names if n.startswith(f"{name}.")}
        if not wanted and name not in names:
            continue
        for number, split, test in splits(name):
            if wanted and number not in wanted:
                continue
            known = {rival for rival, rows in found.get(name, {}).items() if str(number) in rows}
            for rival, row in _judged(folder, name, number, split, test, known):
                found.setdefault(name, {}).setdefault(rival, {})[str(number)] = row
                print(name, number, rival, row, file=sys.stderr, flush=True)
                file.write_text(json.dumps(found, indent=1))


def _judged(
    folder: Path, name: str, number: int, split: QuerySplit, test: Interactions, known: set[str]
) -> Iterator[tuple[str, Row]]:
    """What is not known yet of one split."""
    if "most popular" not in known:
        popular = utility(MostPopular().fit(split.train, 0), split.train, split)
        yield "most popular", {"ItemKNN": float(popular["recall@5"].mean())}
    if "public items, no private data" not in known and (DATA / name / "items.parquet").exists():
        yield "public items, no private data", {"ItemKNN": float(alone(name, split)["recall@5"].mean())}
    for rival, make in others(name, EPSILONS, DELTA).items():
        if rival not in known:
            begin = time.process_time()
            made = make(split.train, number + 1)
            cost = {"CPU s": time.process_time() - begin} if rival != "real data" else {}
            peak = {"GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}
            yield rival, judged(made, split, test) | cost | peak
    for rival, made, cost in drawn(folder, name, number, split.train.items, known):
        yield rival, judged(made, split, test) | cost


def show(file: Path) -> None:
    found: Found = json.loads(file.read_text())
    print("\n".join(f"left out: {line}" for line in LEFT_OUT))
    for name, rivals in found.items():
        print(f"\n{name}\n" + "\n".join(table(best_of({rival: list(rows.values()) for rival, rows in rivals.items()}))))


def best_of(rivals: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Of the settings of one transformer the one with the best mean of ItemKNN and EASE."""
    best: dict[str, tuple[float, list[Row]]] = {}
    for rival, rows in rivals.items():
        kind = rival.rpartition(".")[0] if rival.startswith(("plain.", "dp-sgd")) else rival
        worth = float(np.mean([r["ItemKNN"] + r.get("EASE", 0.0) for r in rows]))
        if kind not in best or worth > best[kind][0]:
            best[kind] = worth, rows
    return {kind: rows for kind, (_, rows) in best.items()}


def table(rivals: dict[str, list[Row]]) -> list[str]:
    columns = ("ItemKNN", "EASE", "next HR@5", "AUC distance", "AUC density", "CPU s", "GPU s", "GB")
    lines = ["| trained on | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for rival, rows in rivals.items():
        lines.append(f"| {rival} | " + " | ".join(cell([r[c] for r in rows if c in r]) for c in columns) + " |")
    return lines


def cell(values: list[float]) -> str:
    known = np.array([v for v in values if np.isfinite(v)])
    if not len(known):
        return ""
    if len(known) < 3:
        return f"{known.mean():.3f}" + (f" ({known.min():.3f} to {known.max():.3f})" if len(known) > 1 else "")
    half = stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / np.sqrt(len(known))
    return f"{known.mean():.3f} ± {half:.3f}"


if __name__ == "__main__" and len(sys.argv) > 2:
    step, where, *rest = sys.argv[1:]
    if step == "export":
        export(Path(where), rest or list(SETS))
    elif step == "judge":
        judge(Path(where), Path(rest[0]), rest[1:] or list(SETS))
    else:
        show(Path(where))
