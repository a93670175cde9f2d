"""What a public file of items is worth to dp-streams: EASE on the released rows and from the tables, beside controls.

    python benchmarks/items.py [ml-100k] [ml-1m-1000] [ml-1m] [films] [diginetica] [nowplaying] [beauty]
        [splits=0,1,2,3,4] [epsilons=1,4,8] [what=none,items,permuted,constant,public,earlier] [judges=1000] [draws=1]
        [with=dp-ratings]

MovieLens: NDCG@10 as lift (0: most popular, 1: EASE with ridge 500 on the real rows). A fifth of the people judge, half
of whose items are shown; intervals are Student's over splits. Sessions of diginetica and #nowplaying: recall@20 of the
second half, by EASE over all items, the better of ridges 100 and 500 (times draws, the streams drawn to a person); its
inverse is applied by conjugate gradients, its diagonal taken to second order. Beauty likewise, of the second half of a
fifth of the people. Tuned on splits 10 to 12.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from places import FOLDER
from scipy import sparse, stats
from scipy.sparse.linalg import svds

from recveil.data import Interactions, from_ids
from recveil.formats.item_file import public_items, read_item_file
from recveil.items import PublicItems
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_ratings import DpRatings
from recveil.mechanisms.dp_streams import DpStreams, known
from recveil.mechanisms.dp_streams.space import conjugate
from recveil.randomness import seeded
from recveil.releases.release import publish
from recveil.samples import sample, sample_items

RIDGE = 500.0
RIDGES = (100.0, RIDGE)
STEPS = 10  # of conjugate gradients: more change nothing (Beauty: recall after 10, 15 and 40 steps is the same)
DELTA = 1e-6
SESSIONS = ("diginetica", "nowplaying")
WHAT = {
    "none": "no file",
    "items": "items",
    "permuted": "permuted",
    "constant": "constant",
    "public": "items and vectors of public interactions (ML-1M)",
    "earlier": "items and the tables of an earlier release of the same people",
}
FILMS, SAMPLE = "films", "films?users=1250"  # the sample, of which 1,000 viewers are released
LEARNT = 16  # directions of public interactions


def facts_of(name: str) -> PublicItems:
    if name == FILMS:
        return public_items(sample_items(SAMPLE), SAMPLE)
    path = FOLDER / name / "items.parquet"
    return public_items(read_item_file(path), str(path))


def movielens(name: str, rated: bool = False) -> Interactions:
    if name == FILMS:
        films = sample(SAMPLE).over_items(facts_of(name).items)
        return films if rated else replace(films, rating=None, time=None)
    rows = pl.read_parquet(FOLDER / name / "ratings.parquet")
    facts = facts_of(name)
    rating = rows["rating"].to_numpy() if rated else None
    return from_ids(rows["user"], rows["item"], rating).over_items(facts.items)


def ease(G: Any) -> Any:
    P = np.linalg.inv(G + RIDGE * np.eye(len(G)))
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0.0)
    return B


def ndcg(scores: Any, shown: Any, hidden: Any) -> float:
    scores = np.where(shown > 0, -np.inf, scores)
    top = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    gain = 1 / np.log2(np.arange(2, 12))
    hit = np.take_along_axis(hidden, top, 1) > 0
    best = np.cumsum(gain)[np.minimum(hidden.sum(1), 10).astype(int) - 1]
    return float(((hit * gain).sum(1) / best)[hidden.sum(1) > 0].mean())


def halves(data: Interactions, people: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """A random half of each judge's items, and the other half."""
    X = data.matrix(binary=True)[people].tocsr()
    shown, hidden = np.zeros(X.shape), np.zeros(X.shape)
    for row in range(X.shape[0]):
        items = rng.permutation(X.indices[X.indptr[row] : X.indptr[row + 1]])
        shown[row, items[: len(items) // 2]] = 1
        hidden[row, items[len(items) // 2 :]] = 1
    return shown, hidden


def from_tables(table: pl.DataFrame, people: float, shown: Any) -> Any:
    """EASE's scores with the same ridge, straight from the table of items of a bundle, by Woodbury's formula."""
    vectors = table.select(pl.lit(1.0), pl.col(r"^v\d+$")).to_numpy()
    U = table["popularity"].to_numpy()[:, None] * vectors / np.sqrt(people)
    K = np.linalg.solve(RIDGE * np.eye(U.shape[1]) + U.T @ U, U.T)
    return ((shown @ U) @ K - shown) / (1 - (U * K.T).sum(1))


def released(
    train: Interactions, facts: PublicItems | None, epsilon: float, seed: int, draws: float = 1
) -> tuple[Any, Any, str]:
    """Rows and tables of a release with the file or without, and whether its space was used."""
    k = "auto" if draws == 1 else int(draws * train.n_users)
    made: Any = DpStreams(epsilon=epsilon, delta=DELTA, order="none", k=k)
    if train.rating is not None:
        made = DpRatings(epsilon=epsilon, delta=DELTA, scale="1..5", k=k)
    public = PublicInfo(train.kind, train.unit, train.items, None, True, features=facts)
    start = time.process_time()
    rounds = publish(train, made, public, seeded(seed)).rounds
    drawn = made.draw(rounds, public, seeded(seed).derive("draw"))
    rows = drawn.rows
    streams = train.rating is None and facts is not None
    used = "" if not streams else f"space {'used' if known.uses_space(rounds, made.laws(public)) else 'left out'}"
    return (
        rows,
        drawn.tables,
        f"{used} {len(np.unique(rows.item))} items {time.process_time() - start:.0f} s",
    )


def file_of(given: str, facts: PublicItems, split: int) -> PublicItems | None:
    if given == "constant":
        alike = sparse.csr_array(np.ones((len(facts.items), 1), dtype=np.float32))
        return PublicItems(facts.items, ("the same",), alike)
    return {"none": None, "permuted": permuted(facts, split)}.get(given, facts)


def permuted(facts: PublicItems, seed: int) -> PublicItems:
    mixed = np.random.default_rng(seed).permutation(len(facts.items))
    return PublicItems(facts.items, facts.names, sparse.csr_array(facts.table[mixed]))


def by_title(name: str) -> pl.DataFrame:
    """Item and title with its year, which MovieLens writes in two ways."""
    table = pl.read_parquet(FOLDER / name / "items.parquet")
    year = pl.format(" ({})", pl.col("year")) if "year" in table.columns else pl.lit("")
    return table.select("item", title=pl.col("title") + year)


def beside(facts: PublicItems, vectors: pl.DataFrame) -> PublicItems:
    """The file with columns v0, v1, ... of some items beside it, as an owner would join them."""
    found = public_items(vectors, "vectors").over(facts.items)
    return PublicItems(facts.items, facts.names, facts.table, found.vectors)


def of_public_interactions(name: str) -> pl.DataFrame:
    """Directions of ML-1M's people, for films of the same title: singular vectors of who has what, by popularity."""
    data = movielens("ml-1m")
    rows = data.matrix(binary=True).astype(np.float64)
    rows = sparse.diags_array(1 / np.sqrt(np.maximum(np.asarray(rows.sum(1)).ravel(), 1))) @ rows
    rows = rows @ sparse.diags_array(1 / np.sqrt(np.maximum(np.asarray(rows.sum(0)).ravel(), 1.0)))
    vectors = svds(rows, LEARNT + 1, random_state=0)[2][::-1][1:].T
    known = by_title("ml-1m").join(pl.DataFrame({"item": data.items, "at": np.arange(data.n_items)}), on="item")
    found = by_title(name).join(known.select("title", "at").unique("title"), on="title")
    return pl.concat(
        [found.select("item"), pl.DataFrame(vectors[found["at"]], schema=[f"v{k}" for k in range(LEARNT)])],
        how="horizontal",
    )


def of_earlier(train: Interactions, facts: PublicItems, epsilon: float, seed: int) -> pl.DataFrame:
    """What an earlier release of the same people has in its tables: what follows costs as much again."""
    table = released(train, facts, epsilon, 1000 + seed)[1]["items"]
    return table.drop("popularity")


def lifts(
    name: str, people: int | None, splits: list[int], epsilons: list[float], what: list[str], rated: bool
) -> None:
    data, facts = movielens(name, rated), facts_of(name)
    facts = facts.over(data.items)
    alone = facts.weighted()
    found: dict[str, list[float]] = defaultdict(list)
    for split in splits:
        rng = np.random.default_rng([split, *b"items"])
        order = rng.permutation(data.n_users)
        cut = int(0.8 * data.n_users)
        train = data.take_users(order[: people or cut]).canonical()
        shown, hidden = halves(data, order[cut:][:1000], rng)
        X = train.matrix(binary=True)
        popular = ndcg(np.tile(np.asarray(X.sum(0)).ravel(), (len(shown), 1)), shown, hidden)
        real = ndcg(shown @ ease((X.T @ X).toarray()), shown, hidden)

        def lift(scores: Any, zero: float = popular, one: float = real, s: Any = shown, h: Any = hidden) -> float:
            return (ndcg(scores, s, h) - zero) / (one - zero)

        found["public items, no private data"].append(lift((alone @ (alone.T @ shown.T)).T))
        for epsilon in epsilons:
            for given in what:
                label = f"{'dp-ratings' if rated else 'dp-streams'}, epsilon {epsilon:g}, {WHAT[given]}"
                try:
                    file = file_of(given, facts, split)
                    if given == "public":
                        file = beside(facts, of_public_interactions(name))
                    if given == "earlier":
                        file = beside(facts, of_earlier(train, facts, epsilon, split))
                    rows, tables, note = released(train, file, epsilon, split)
                except Exception as error:
                    print(split, label, error, flush=True)
                    continue
                R = rows.matrix(binary=True)
                found[label].append(lift(shown @ ease((R.T @ R).toarray())))
                print(name, split, label, f"{found[label][-1]:.3f}", note, flush=True)
                table = tables.get("items")
                if table is not None and not rated:
                    direct = f"{label}, straight from the tables"
                    found[direct].append(lift(from_tables(table, rows.n_users, shown)))
                    print(name, split, direct, f"{found[direct][-1]:.3f}", flush=True)
    for label, values in found.items():
        spread = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
        print(f"| {name} {people or 'all'} | {label} | {np.mean(values):.3f} ± {spread:.3f} ({len(values)} splits) |")


def recall(G: Any, shown: list[Any], hidden: list[Any], ridge: float, steps: int = STEPS) -> float:
    """EASE's recall@20 from a table of pairs, through the columns of the inverse that the judges ask for."""
    own = G.diagonal() + ridge
    rest = G.copy()
    rest.setdiag(0)
    diagonal = 1 / (own - rest.multiply(rest) @ (1 / own))
    scale = 1 / np.sqrt(own)
    even = sparse.csr_array(sparse.diags_array(scale) @ rest @ sparse.diags_array(scale))

    def scores(asked: Any) -> Any:
        solved = conjugate(lambda v: even @ v + v, scale[:, None] * asked, steps)
        return -solved * (scale / diagonal)[:, None]

    return found_of(scores, G.shape[0], shown, hidden)


def found_of(scores: Any, n: int, shown: list[Any], hidden: list[Any]) -> float:
    """Recall@20 of what scores well, given columns of what is shown, a hundred judges at a time."""
    hits = []
    for begin in range(0, len(shown), 100):
        asked = np.zeros((n, len(shown[begin : begin + 100])))
        for k, items in enumerate(shown[begin : begin + 100]):
            asked[items, k] = 1
        likely = scores(asked)
        likely[asked > 0] = -np.inf
        top = np.argpartition(-likely, 20, axis=0)[:20].T
        hits += [np.isin(h, t).mean() for h, t in zip(hidden[begin : begin + 100], top, strict=True)]
    return float(np.mean(hits))


def pairs_of(rows: Any) -> Any:
    return sparse.csr_array(rows.T @ rows).astype(np.float64)


def best(table: Any, shown: list[Any], hidden: list[Any], draws: float = 1) -> str:
    """The better of two ridges, which grow with how many are drawn."""
    return f"{max(recall(table, shown, hidden, draws * ridge) for ridge in RIDGES):.3f}"


def straight(tables: Any, people: float, shown: list[Any], hidden: list[Any]) -> dict[str, str]:
    """The same from the tables of a bundle: the pairs that it lists, and the low rank of its items (Woodbury)."""
    items, pairs = tables["items"], tables["pairs"]
    place = pl.DataFrame({"item": items["item"], "at": np.arange(items.height)})
    first, second = (
        pairs.join(place, left_on=side, right_on="item", how="left", maintain_order="left")["at"]
        for side in ("first", "second")
    )
    shape = (items.height, items.height)
    above = sparse.csr_array((pairs["weight"].to_numpy(), (first.to_numpy(), second.to_numpy())), shape=shape)
    listed = sparse.csr_array(above + above.T + sparse.diags_array(items["popularity"].to_numpy()))
    vectors = items.select(pl.lit(1.0), pl.col(r"^v\d+$")).to_numpy()
    U = items["popularity"].to_numpy()[:, None] * vectors / np.sqrt(people)
    low = []
    for ridge in RIDGES:
        K = np.linalg.solve(ridge * np.eye(U.shape[1]) + U.T @ U, U.T)
        kept = (1 - (U * K.T).sum(1))[:, None]
        low.append(found_of(lambda v, K=K, kept=kept: (U @ (K @ v) - v) / kept, len(U), shown, hidden))
    return {"pairs.parquet": best(listed, shown, hidden), "items.parquet": f"{max(low):.3f}"}


def controls(train: Interactions, facts: PublicItems, shown: list[Any], hidden: list[Any]) -> dict[str, float]:
    """The rows that every table has: most popular, and the file alone; ties by public chance."""
    popular = np.bincount(train.item, minlength=train.n_items).astype(np.float64)
    alone, chance = facts.weighted(), 1e-6 * np.random.default_rng(0).random(train.n_items)
    found: dict[str, list[float]] = {"most popular": [], "public items, no private data": []}
    for s, h in zip(shown, hidden, strict=True):
        likely = np.asarray((alone @ alone[s].sum(0)).ravel()) + chance
        for scores, hits in zip((popular.copy(), likely), found.values(), strict=True):
            scores[s] = -np.inf
            hits.append(float(np.isin(h, np.argpartition(-scores, 20)[:20]).mean()))
    return {control: float(np.mean(hits)) for control, hits in found.items()}


def clicks_of(name: str) -> list[list[Any]]:
    if name in SESSIONS:
        return list(pl.read_parquet(FOLDER / name / "sessions.parquet")["clicks"])
    rows = pl.read_parquet(FOLDER / name / "clicks.parquet").sort("user", "order")
    return list(rows.group_by("user", maintain_order=True).agg("item")["item"])


def held_out(name: str, n: int, split: int) -> tuple[Any, Any]:
    """Who judges, and of whom is learnt."""
    if name in SESSIONS:
        order = np.random.default_rng(split).permutation(n)
        return order[: min(5000, n // 10)], order[min(5000, n // 10) :]
    order, cut = np.random.default_rng([split, *b"items"]).permutation(n), int(0.8 * n)
    return order[cut:], order[:cut]


def shop(name: str, splits: list[int], epsilons: list[float], what: list[str], judges: int, draws: float) -> None:
    facts = facts_of(name)
    at = {item: place for place, item in enumerate(facts.items.to_list())}
    streams = [list(dict.fromkeys(at[i] for i in c if i in at)) for c in clicks_of(name)]
    for split in splits:
        asked, learnt = held_out(name, len(streams), split)
        test = [streams[k] for k in asked if len(streams[k]) > 1][:judges]
        shown, hidden = ([s[: (len(s) + 1) // 2] for s in test], [s[(len(s) + 1) // 2 :] for s in test])
        kept = [streams[k] for k in learnt]
        user, item = np.repeat(np.arange(len(kept)), [len(s) for s in kept]), np.concatenate(kept).astype(np.int64)
        train = from_ids(pl.Series(user), pl.Series(facts.items).gather(item)).over_items(facts.items).canonical()
        for control, value in controls(train, facts.over(train.items), shown, hidden).items():
            print(f"| {name} {split} | {control} | {value:.3f} |", flush=True)
        if "real" in what:
            print(f"| {name} {split} | real | {best(pairs_of(train.matrix(binary=True)), shown, hidden)} |", flush=True)
        for epsilon in epsilons:
            for given in what:
                if given not in WHAT:
                    continue
                file = file_of(given, facts, split)
                known = None if file is None else file.over(train.items)
                rows, tables, note = released(train, known, epsilon, split, draws)
                label = f"| {name} {split} | epsilon {epsilon:g}, {WHAT[given]}"
                direct = straight(tables, rows.n_users / draws, shown, hidden) if "items" in tables else {}
                for of, value in direct.items():
                    print(f"{label}, straight from {of} | {value} |", flush=True)
                ratio = rows.n_users / train.n_users
                found = best(pairs_of(rows.matrix(binary=True)), shown, hidden, ratio)
                print(f"{label} | {found} | {note}", flush=True)


if __name__ == "__main__":
    words = [w for w in sys.argv[1:] if "=" not in w] or ["ml-100k", "ml-1m-1000", "ml-1m", "diginetica"]
    given = dict(w.split("=") for w in sys.argv[1:] if "=" in w)
    splits = [int(s) for s in given.get("splits", "0,1,2,3,4").split(",")]
    epsilons = [float(e) for e in given.get("epsilons", "1,4,8").split(",")]
    for word in words:
        if word in ("diginetica", "nowplaying", "beauty"):
            what = given.get("what", "real,none,items").split(",")
            judges, draws = int(given.get("judges", 1000)), float(given.get("draws", 1))
            shop(word, splits if word == "beauty" else splits[:2], epsilons, what, judges, draws)
        else:
            lifts(
                "ml-1m" if word.startswith("ml-1m") else word,
                1000 if word.endswith("-1000") else None,
                splits,
                epsilons,
                given.get("what", "none,items,permuted").split(","),
                given.get("with") == "dp-ratings",
            )
