"""dp-tags on HetRec data: how long a release takes, and recall of tag suggestions beside their yardsticks.

    python benchmarks/dp_tags.py [--seeds N] [--quick | --items]

opendp's sampler is timed on a small share of the cells in the same run. `--items`: what genres, years and words of
titles would add to the tables of films, were each film's row filled up with what films like it bear.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from places import needed
from scipy import sparse

from recveil.data import Interactions, from_ids
from recveil.evaluation.assess import contributions
from recveil.evaluation.metrics.tags import judge
from recveil.evaluation.recommenders.tags import OWN_HISTORY, POPULAR, Mixture
from recveil.formats.item_file import public_items
from recveil.intervals import bootstrap_mean
from recveil.items import PublicItems
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_tags import DpTags
from recveil.randomness import entropy, seeded
from recveil.releases.release import draw, publish, release
from recveil.splits import leave_one_post_out
from recveil.views.triples import TripleTables, distinct, tables

MODES = {
    "record, local": {},
    "record, central": {"profiles": "central"},
    "user, local": {"unit": "user", "delta": 1e-5},
}


def timed(what: str, run: Callable[[], Any]) -> Any:
    begin = time.perf_counter()
    found = run()
    print(f"  {what:<42} {time.perf_counter() - begin:7.2f} s")
    return found


def speed(data: Interactions) -> None:
    import opendp.prelude as dp

    mechanism = DpTags(epsilon=4.0, tags="observed")
    public = PublicInfo(data.kind, data.unit, data.items, data.tags, True, ("tags",))
    release(data.take(slice(0, 2000)), mechanism)  # kernels are compiled
    published = timed("tables with exact noise", lambda: publish(data, mechanism, public, entropy()))
    cells = published.rounds[1]["item_tag"].size
    timed("posterior means", lambda: mechanism.tables(published.rounds, public))
    timed("posterior means and rows", lambda: draw(published))
    begin = time.perf_counter()
    timed(f"release, whole ({cells:,} noisy cells)", lambda: release(data, mechanism))
    ours = time.perf_counter() - begin
    dp.enable_features("contrib")
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    peer = dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=float(mechanism.laws(public)["item_tag"].size))
    some = 200_000
    begin = time.perf_counter()
    peer([0] * some)
    theirs = (time.perf_counter() - begin) * cells / some
    print(
        f"  opendp's noise alone, extrapolated from {some:,} cells: {theirs:.0f} s, {theirs / ours:.0f} times the whole"
    )
    print(f"  largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def utility(data: Interactions, seeds: int) -> None:
    train, test = leave_one_post_out(data, np.random.default_rng(1))
    exact, rng = tables(train), np.random.default_rng(0)
    spread = contributions(np.bincount(train.user))
    print(
        "  at record level a person with k tags has k times epsilon; k:",
        ", ".join(f"{n} {k:g}" for n, k in spread.items()),
    )
    for model in (Mixture("not private"), OWN_HISTORY, POPULAR):
        show(model.name, [judge(model.fit(exact), test)[:, 9]], rng)
    for name, more in MODES.items():
        for epsilon in (1.0, 4.0):
            mechanism = DpTags(epsilon=epsilon, **more)  # type: ignore[arg-type]
            values = []
            for seed in range(seeds):
                public = PublicInfo(data.kind, data.unit, data.items, data.tags, True, ("tags", "users"), data.users)
                found = mechanism.tables(publish(train, mechanism, public, seeded(seed)).rounds, public)
                known = exact.user if found.user_tag is None else found.user_tag
                values.append(judge(Mixture().fit(TripleTables(found.item_tag, known, found.tag)), test)[:, 9])
            show(f"{name}, epsilon {epsilon:g}", values, rng)


FILLED = (1.0, 3.0, 10.0, 30.0)  # tags' worth of what films like it bear


def with_items(data: Interactions, facts: PublicItems, seeds: int) -> None:
    """Rows of films filled up by likeness of features: from the noisy tables, and, as a bound, from the exact ones."""
    train, test = leave_one_post_out(data, np.random.default_rng(1))
    exact, rng = tables(train), np.random.default_rng(0)
    alike = facts.over(data.items).weighted()
    for name in ("record, local", "user, local"):
        for epsilon in (1.0, 4.0):
            mechanism = DpTags(epsilon=epsilon, **MODES[name])  # type: ignore[arg-type]
            public = PublicInfo(data.kind, data.unit, data.items, data.tags, True, ("tags", "users"), data.users)
            found: dict[str, list[Any]] = {}
            for seed in range(seeds):
                made = mechanism.tables(publish(train, mechanism, public, seeded(seed)).rounds, public)
                found.setdefault("as it is", []).append(made.item_tag)
                for source, told in (("noisy", made.item_tag), ("exact", exact.resource)):
                    near = alike @ (alike.T @ told)
                    near = sparse.diags_array(1 / np.maximum(np.asarray(near.sum(1)).ravel(), 1e-9)) @ near
                    for more in FILLED:
                        label = f"{more:g} tags of like films, {source} tables"
                        found.setdefault(label, []).append(sparse.csr_array(made.item_tag + more * near))
            for label, rows in found.items():
                values = [judge(Mixture().fit(TripleTables(r, exact.user, made.tag)), test)[:, 9] for r in rows]
                show(f"{name}, epsilon {epsilon:g}, {label}", values, rng)


def show(name: str, values: list[Any], rng: np.random.Generator) -> None:
    mean, low, high = bootstrap_mean(np.mean(values, axis=0), rng)
    spread = f", noise sd {np.std([v.mean() for v in values], ddof=1):.4f}" if len(values) > 1 else ""
    print(f"  {name:<28} recall@10 {mean:.4f} [{low:.4f}, {high:.4f}] of {len(values[0])} posts{spread}")


def facts_of_films(folder: Path) -> PublicItems:
    known = [pl.read_parquet(folder / f"{part}.parquet") for part in ("resources", "genres")]
    return public_items(known[0].join(known[1], on="resource", how="left").rename({"resource": "item"}), folder.name)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seeds", type=int, default=3)
    asked.add_argument("--quick", action="store_true", help="speed alone")
    asked.add_argument("--items", action="store_true", help="what an item file would add, alone")
    wish = asked.parse_args()
    names = ("hetrec-lastfm", "hetrec-movielens")
    for name in names:
        frame = pl.read_parquet(needed(*names) / name / "tags.parquet")
        data = distinct(from_ids(frame["user"], frame["resource"], tag=frame["tag"]))
        print(f"{name}: {len(data):,} triples, {data.n_users:,} users, {data.n_items:,} items, {data.n_tags:,} tags")
        if wish.items:
            if name == "hetrec-movielens":
                with_items(data, facts_of_films(needed(*names) / name), wish.seeds)
            continue
        speed(data)
        if not wish.quick:
            utility(data, wish.seeds)


if __name__ == "__main__":
    main()
