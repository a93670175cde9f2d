"""dp-ratings on real ratings: what predictors and recommenders learn from it, and whether their order is kept inside.

    python benchmarks/dp_ratings.py FILE ml-1m real epsilon=4 epsilon=8 [--numbers 0,1,2,3,4] [--inside]
    python benchmarks/dp_ratings.py FILE                                    the table of all that is in FILE

A condition is `real`, `epsilon=4` (dp-ratings with a public catalogue), `selected=4` (without a catalogue),
`features=4` (with genres and years), `null=8` (ratings permuted over all rows), `items=8` (items permuted over all
rows), `epsilon=4@650` (of 650 people), or the spec of another mechanism.
FILE holds a JSON line for each number and condition, written as soon as it is known; what it has is not done again.

Number k: 80 % of the people are released with noise seed k, at most 1,200 others are judges, half of whose ratings is
history, and half is hidden. Predictors and EASE (penalty 1,000) are fitted to the released rows alone, and judges are
folded in by their own history; `direct` is straight from the tables of the bundle. `--inside`: the order of eight
predictors that are trained and tested inside.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from places import FOLDER
from scipy import sparse, stats

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.metrics.in_house import inside, tau
from recveil.evaluation.metrics.skill import folded
from recveil.evaluation.recommenders.ease import EASE
from recveil.evaluation.recommenders.items_alone import items_alone
from recveil.evaluation.recommenders.likeness import ItemLikeness
from recveil.evaluation.recommenders.plain_raters import EIGHT, Biases, Factors
from recveil.evaluation.recommenders.rater import feasible
from recveil.formats.item_file import public_items
from recveil.items import PublicItems
from recveil.mechanisms.dp_ratings import DpRatings
from recveil.mechanisms.dp_ratings.predicting import from_frames
from recveil.mechanisms.spec import parse
from recveil.releases.catalogue import Catalogue
from recveil.releases.release import release

DATA = FOLDER
SCALES = {"jester": "-10..10/0.5"}
DELTA = {"goodbooks-10k": 1e-6}
OUTSIDE: tuple[Any, ...] = (Biases(), Factors(), ItemLikeness())
JUDGES, LIST = 1200, 10
FEW = 2000  # items up to which lists are also made from likes alone, and ItemKNN is fitted: half of the time goes there
FINDS = {"null": "rating", "items": "item"}  # what is permuted

Row = dict[str, Any]


def load(name: str) -> Interactions:
    folder = DATA
    frame = pl.read_parquet(folder / name / "ratings.parquet").unique(
        ["user", "item"], keep="first", maintain_order=True
    )
    data = from_ids(frame["user"], frame["item"], frame["rating"].to_numpy())
    if (folder / name / "items.parquet").exists():
        listed = pl.read_parquet(folder / name / "items.parquet")["item"].cast(pl.Int64).unique().sort()
        data = data.over_items(listed)
    return data


def features(name: str) -> PublicItems:
    """Genres and years, as public features."""
    frame = pl.read_parquet(DATA / name / "items.parquet")
    if "year" not in frame.columns:
        frame = frame.with_columns(year=pl.col("title").str.extract(r"\((\d{4})\)").cast(pl.Int64))
    words = pl.col("genres").str.replace_all(" " if name == "ml-100k" else "|", "|", literal=True)
    return public_items(frame.select("item", "year", words), name)


def split(data: Interactions, number: int) -> tuple[Interactions, Interactions, Interactions]:
    """People to release; of the judges, history and what is hidden."""
    rng = np.random.default_rng([number, *b"dp-ratings"])
    people = rng.permutation(data.n_users)
    cut = int(0.8 * data.n_users)
    rows = data.take_users(people[cut:][:JUDGES]).compact().over_items(data.items)
    rows = rows.take(rng.permutation(len(rows)))
    rows = rows.take(np.argsort(rows.user, kind="stable"))
    starts = rows.starts()
    early = np.arange(len(rows)) - starts[rows.user] < np.diff(starts)[rows.user] // 2
    return data.take_users(people[:cut]).compact().over_items(data.items), rows.take(early), rows.take(~early)


def released(name: str, condition: str, train: Interactions, number: int) -> tuple[Interactions, Row, Any]:
    """The rows of a condition over the items of the data, what it took, and its tables, if any."""
    if condition == "real":
        return train, {}, None
    kind, _, value = condition.partition("=")
    ours = kind in ("epsilon", "selected", "features", *FINDS)
    value, _, people = value.partition("@") if ours else (value, "", "")
    if people:
        chosen = np.random.default_rng(number).permutation(train.n_users)[: int(people)]
        train = train.take_users(chosen).compact().over_items(train.items)
    if kind in FINDS:
        column: Any = {FINDS[kind]: np.random.default_rng(5).permutation(getattr(train, FINDS[kind]))}
        train = Interactions(**{f: getattr(train, f) for f in ("user", "item", "users", "items", "rating")} | column)
    mechanism = (
        DpRatings(
            epsilon=float(value),
            delta=DELTA.get(name, 1e-5),
            scale=SCALES.get(name, "1..5"),
        )
        if ours
        else parse(condition)
    )
    cpu = time.process_time()
    given = Catalogue(
        train.items if ours and kind != "selected" else None,
        features=features(name) if kind == "features" else None,
    )
    made = release(train, mechanism, seed=number, catalogue=given)
    took = {"cpu": time.process_time() - cpu, "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}
    tables = made.tables if ours else None
    return made.data.over_items(train.items), took, tables


def judged(name: str, condition: str, data: Interactions, number: int, within: bool) -> Row:
    train, query, result = split(data, number)
    like = 5.0 if name == "jester" else 4.0
    found: Row = {"set": name, "condition": condition, "number": number}
    try:
        rows, took, tables = released(name, condition, train, number)
    except RecveilError as refusal:
        return found | {"refused": str(refusal)}
    found |= took
    found |= {"people": len(np.unique(rows.user)), "rows": len(rows), "items": len(np.unique(rows.item))}
    raters = OUTSIDE if data.n_items < FEW else OUTSIDE[:-1]
    found |= {f"rmse {n}": float(np.sqrt(np.mean(e**2))) for n, e in folded(raters, rows, query, result).items()}
    if tables is not None:
        model = from_frames(tables["items"], tables["people"])
        ids = tables["items"]["item"]
        shown, asked = query.over_items(ids), result.over_items(ids)  # what has no table is not asked
        guess = model.predict(shown, asked.user.astype(np.int64), asked.item.astype(np.int64))
        found["rmse direct"], found["share direct"] = _rmse(guess, asked), len(asked) / len(result)
    if data.n_items <= EASE.items and "@" not in condition:
        for which, least in (("all", -np.inf), ("liked", like))[: 2 if data.n_items < FEW else 1]:
            facts = features(name).over(data.items) if (DATA / name / "items.parquet").exists() else None
            found |= {f"{k} {which}": v for k, v in lists(rows, query, result, least, like, facts).items()}
    if within and all(feasible(r, rows) for r in EIGHT):
        found["inside"] = inside(EIGHT, rows, number).tolist()
    return found


def _rmse(guess: Any, result: Interactions) -> float:
    return float(np.sqrt(np.mean((guess - result.rating) ** 2)))


def lists(
    rows: Interactions, query: Interactions, result: Interactions, least: float, like: float, facts: PublicItems | None
) -> Row:
    """NDCG@10 of EASE, neighbours and most popular, fitted to ratings from `least` on, and public items."""
    X, history = (part.take(part.rating >= least).matrix(True) for part in (rows, query))
    wanted = result.take(result.rating >= like).matrix(True).toarray() > 0
    known = query.matrix(True).toarray() > 0
    judges = np.flatnonzero(wanted.any(1))
    popular = np.asarray(X.sum(0)).ravel().astype(float)
    model = EASE(penalty=1000.0).fit(rows.take(rows.rating >= least), 0)
    weights = np.zeros((len(popular), len(popular)))
    weights[np.ix_(model.known, model.known)] = model.B
    near = neighbours(X)
    found = {"ease": history[judges] @ weights, "itemknn": history[judges] @ near, "popular": 0.0}
    told = {k: _ndcg(s + 1e-9 * popular, known[judges], wanted[judges]) for k, s in found.items()}
    if facts is not None:
        alone = items_alone(facts).scores(query, history[judges], judges)
        told["public items"] = _ndcg(alone, known[judges], wanted[judges])
    return told


def neighbours(X: sparse.csr_array, k: int = 50) -> Any:
    S = (X.T @ X).toarray()
    norm = np.sqrt(np.maximum(np.diag(S), 1e-9))
    S = S / norm / norm[:, None]
    np.fill_diagonal(S, 0.0)
    if k < len(S):
        S[np.partition(S, -k, axis=1)[:, [-k]] > S] = 0.0
    return S


def _ndcg(scores: Any, known: Any, wanted: Any) -> float:
    scores = np.where(known, -np.inf, scores)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :LIST]
    discount = 1 / np.log2(np.arange(LIST) + 2)
    ideal = np.cumsum(discount)[np.minimum(wanted.sum(1), LIST) - 1]
    return float((np.take_along_axis(wanted, best, 1) @ discount / ideal).mean())


# --- the table --------------------------------------------------------------------------------------------------


def derived(row: Row, real: Row, pairs: list[tuple[int, int]]) -> Row:
    """Skills, lifts and the order inside, of a condition against the real data of the same number."""
    found = {k: v for k, v in row.items() if isinstance(v, float)}
    zero = real["rmse item-average"]
    best = min(v for k, v in real.items() if k.startswith("rmse "))
    found |= {f"skill {k[5:]}": (zero - v) / (zero - best) for k, v in row.items() if k.startswith("rmse ")}
    for which in ("all", "liked"):
        for who in ("ease", "itemknn", "public items"):
            if f"{who} {which}" in row and f"{who} {which}" in real:
                whole = "ease" if who == "public items" else who
                ahead = real[f"{whole} {which}"] - real[f"popular {which}"]
                found[f"lift {who} {which}"] = (row[f"{who} {which}"] - real[f"popular {which}"]) / ahead
                found[f"{who} over popular {which}"] = row[f"{who} {which}"] - row[f"popular {which}"]
    if "inside" in row and "inside" in real:
        found["tau inside"] = tau(np.array(row["inside"]), np.array(real["inside"]))
        if pairs:
            signs = np.sign([row["inside"][b] - row["inside"][a] for a, b in pairs])
            found[f"tau of {len(pairs)} sure pairs"] = float(signs.mean())
    return found


def certain(rows: list[Row], name: str) -> list[tuple[int, int]]:
    """Pairs of the eight, the better first, whose difference inside the real data is not 0: Student's test, 95 %."""
    real = np.array([r["inside"] for r in rows if (r["set"], r["condition"]) == (name, "real") and "inside" in r])
    if len(real) < 2:
        return []
    far = stats.t.ppf(0.975, len(real) - 1) / len(real) ** 0.5
    gap = real[:, None, :] - real[:, :, None]
    return [(int(a), int(b)) for a, b in np.argwhere(gap.mean(0) > far * gap.std(0, ddof=1))]


def swapped(rows: list[Row], name: str, condition: str) -> list[str]:
    """Which of these pairs stand the other way round inside the release, how often, and by how much."""
    mine = [np.array(r["inside"]) for r in rows if (r["set"], r["condition"]) == (name, condition) and "inside" in r]
    lines = []
    for a, b in certain(rows, name) if mine else []:
        wrong = [float(v[a] - v[b]) for v in mine if v[a] >= v[b]]
        if wrong:
            names = f"{EIGHT[a].name} before {EIGHT[b].name}"
            lines.append(f"    {names}: wrong in {len(wrong)} of {len(mine)}, by {np.mean(wrong):.4f}")
    return lines


def table(rows: list[Row]) -> list[str]:
    """Means over numbers, with Student's interval, of every set and condition."""
    real = {(r["set"], r["number"]): r for r in rows if r["condition"] == "real"}
    lines = []
    for which in dict.fromkeys((r["set"], r["condition"]) for r in rows):
        mine = [r for r in rows if (r["set"], r["condition"]) == which]
        refused = [r["refused"] for r in mine if "refused" in r]
        pairs = certain(rows, which[0])
        known = [derived(r, real[r["set"], r["number"]], pairs) for r in mine if "refused" not in r]
        lines.append(f"{which[0]}, {which[1]}: {len(known)} runs, {len(refused)} refused {refused[:1] or ''}")
        for key in dict.fromkeys(k for r in known for k in r):
            values = np.array([r[key] for r in known if key in r])
            half = (
                stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0
            )
            lines.append(f"    {key:<26}{values.mean():9.4f} +- {half:.4f}  ({len(values)})")
        lines += swapped(rows, *which)
    return lines


def measured(file: Path, name: str, conditions: list[str], numbers: list[int], within: bool) -> list[Row]:
    """All lines of the file, after those asked for and not yet there were measured and added."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {(r["set"], r["condition"], r["number"]) for r in rows}
    missing = [(n, c) for n in numbers for c in conditions if (name, c, n) not in done]
    data = load(name) if missing else None
    for number, condition in missing:
        rows.append(judged(name, condition, data, number, within))
        with file.open("a") as out:
            out.write(json.dumps(rows[-1]) + "\n")
    return rows


def means(rows: list[Row], name: str, condition: str) -> Row:
    """The mean over numbers of all that is known of a condition; `refused`: how often it was."""
    real = {r["number"]: r for r in rows if r["set"] == name and r["condition"] == "real"}
    mine = [r for r in rows if r["set"] == name and r["condition"] == condition]
    pairs = certain(rows, name)
    known = [derived(r, real[r["number"]], pairs) for r in mine if "refused" not in r]
    keys = dict.fromkeys(k for r in known for k in r)
    found = {k: float(np.mean([r[k] for r in known if k in r])) for k in keys}
    return found | {"refused": sum("refused" in r for r in mine), "runs": len(mine)}


def main(file: Path, asked: list[str], numbers: list[int], within: bool) -> None:
    if asked:
        measured(file, asked[0], asked[1:], numbers, within)
    else:
        print("\n".join(table(measured(file, "", [], [], within))))


if __name__ == "__main__":
    given = sys.argv[1:]
    picked = "0,1,2,3,4"
    if "--numbers" in given:
        at = given.index("--numbers")
        picked = given[at + 1]
        del given[at : at + 2]
    plain = [g for g in given if g != "--inside"]
    if plain:
        main(Path(plain[0]), plain[1:], [int(n) for n in picked.split(",")], "--inside" in given)
    else:
        print("left out: name the file of results, then a data set and what is to be measured on it")
