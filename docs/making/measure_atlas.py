"""make atlas: how exposed are the people of public data sets, and what does each mechanism leave? Into docs/kept/atlas.

Aggregate figures alone; no record and no id of anybody. A data set that is not there is named, and the others are done.
Large ones are thinned by people: so many, drawn at random with seed 1, each with everything she did.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from making.kept import KEPT

ASSESSED = 5_000  # people at most whose exposure is measured
COMPARED = 1_000  # people at most on whom mechanisms are compared
KNOWN = (2, 4, 8)
MOST = 4  # items known to who attacks a release, if half of the people have as many
SEED = 1


@dataclass(frozen=True)
class DataSet:
    title: str
    file: str
    origin: str
    scale: str = "1..5"  # of ratings, as everybody knows it


MOVIELENS, HETREC = "GroupLens, grouplens.org/datasets/movielens", "GroupLens, grouplens.org/datasets/hetrec-2011"
SETS = {
    "diginetica": DataSet("Diginetica", "sessions.parquet", "the CIKM Cup 2016, track 2"),
    "goodbooks-10k": DataSet("goodbooks-10k", "ratings.parquet", "its first version, on GitHub and Kaggle"),
    "hetrec-lastfm": DataSet("HetRec Last.fm", "tags.parquet", HETREC),
    "hetrec-movielens": DataSet("HetRec MovieLens", "tags.parquet", HETREC),
    "jester": DataSet("Jester 1", "ratings.parquet", "eigentaste.berkeley.edu/dataset", "-10..10"),
    "ml-100k": DataSet("MovieLens 100K", "ratings.parquet", MOVIELENS),
    "ml-1m": DataSet("MovieLens 1M", "ratings.parquet", MOVIELENS),
    "msnbc": DataSet("MSNBC", "sessions.parquet", "the UCI repository"),
    "nowplaying": DataSet("#nowplaying", "sessions.parquet", "sessions of the #nowplaying data set"),
    "yahoo-music-mbrw": DataSet(
        "Yahoo Music, a sample", "ratings.parquet", "beside the code of MBRW's authors", "0..100/10"
    ),
}


def measured(name: str, folder: Path) -> dict[str, Any]:
    """The document of one data set."""
    import recveil

    chosen = SETS[name]
    data = recveil.read(str(folder / name / chosen.file))
    few, rule = thinned(data, ASSESSED)
    exposed = recveil.assess(few, seed=SEED, known=KNOWN)
    document = {
        "data": name,
        "title": chosen.title,
        "origin": chosen.origin,
        "version": recveil.__version__,
        "made": datetime.now(UTC).date().isoformat(),
        "kind": data.kind,
        "unit": data.unit,
        "people": data.n_users,
        "items": data.n_items,
        "rows": len(data),
        "assessed": {"people": few.n_users, "rule": rule},
        "items_of_one_person": exposed["items_of_one_person"],
        "assessed_items": exposed["items"],
        "exposure": _curve(exposed["measurements"]),
    }
    return document | _compared(data, chosen.scale)


def thinned(data: Any, most: int) -> tuple[Any, str]:
    """At most so many people, and the rule by which they were chosen."""
    if data.n_users <= most:
        return data, f"all {data.n_users:,} {data.unit}s"
    few = np.sort(np.random.default_rng(SEED).choice(data.n_users, most, replace=False))
    rule = f"{most:,} of {data.n_users:,} {data.unit}s, whole ones drawn at random"
    return data.take_users(few).compact(), rule


def _curve(measurements: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the attacker who keeps the records that hold all that is known, and of the strongest of all."""
    return [
        {"attacker": m["params"]["attacker"], **{k: m["params"][k] for k in ("known", "ratings")}, **_numbers(m)}
        for m in measurements
        if m["name"] == "linkage" and m["params"]["attacker"] == "strongest"
    ]


def _compared(data: Any, scale: str) -> dict[str, Any]:
    from recveil.evaluation.advice import fitting
    from recveil.evaluation.compare import compare
    from recveil.evaluation.design import Design

    few, rule = thinned(data, COMPARED)
    only = ("linkage", "membership", "tags" if data.kind == "tags" else "lift")
    specs = [spec.replace("scale=1..5", f"scale={scale}") for spec in fitting(few)]
    report = compare(few, specs, Design(seed=SEED, quick=True, only=only, shadows=0))
    found = [m.record() for m in report.measurements]
    mechanisms = []
    for entry in report.entries:
        mine = [m for m in found if m["mechanism"] == entry.spec]
        mechanisms.append(
            {
                "spec": entry.spec,
                "promise": {"experiment": "proved"}.get(entry.guarantee.status, entry.guarantee.status),
                "unit": entry.guarantee.unit,
                "found": _first(mine, "linkage", ratings=False, attacker="strongest"),
                "membership": _first(mine, "membership-auc", score="distance"),
                "lift": _first(mine, "tag lift", referee="mixture") or _first(mine, "lift", referee="all"),
            }
        )
    rule = f"{rule}; {report.meta['held_out']:,} of them held out"
    return {"compared": {"people": few.n_users, "rule": rule}, "mechanisms": mechanisms, "skipped": report.skipped}


def _first(found: Sequence[dict[str, Any]], name: str, **params: Any) -> dict[str, Any] | None:
    """The measurement of this name; of several attackers the one who knows most, up to 4 items."""
    fits = [m for m in found if m["name"] == name and params.items() <= m["params"].items()]
    fits = sorted((m for m in fits if m["params"].get("known", 0) <= MOST), key=lambda m: m["params"].get("known", 0))
    if not fits:
        return None
    known = {"known": fits[-1]["params"]["known"]} if "known" in fits[-1]["params"] else {}
    return _numbers(fits[-1]) | known


def _numbers(m: dict[str, Any]) -> dict[str, Any]:
    keys = ("value", "low", "high", "control", "chance")
    return {k: None if m[k] is None else float(f"{m[k]:.4g}") for k in keys} | {"n": m["n"]}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="DATA", help=f"some of {', '.join(SETS)}; else all")
    parser.add_argument("--data", default=os.environ.get("RECVEIL_DATA"), help="the folder of data sets")
    parser.add_argument("--kept", type=Path, default=KEPT / "atlas", help="where the JSON goes")
    asked = parser.parse_args(arguments)
    if not asked.data:
        print("the atlas needs the data sets: give their folder with --data DIR, or in RECVEIL_DATA", file=sys.stderr)
        return 1
    if odd := [name for name in asked.names if name not in SETS]:
        print(f"no data set is called {odd[0]}; there are {', '.join(SETS)}", file=sys.stderr)
        return 1
    asked.kept.mkdir(parents=True, exist_ok=True)
    for name in asked.names or SETS:
        path = Path(asked.data) / name / SETS[name].file
        if not path.is_file():
            print(f"{name}: left out, {name}/{SETS[name].file} is not there ({SETS[name].origin})", flush=True)
            continue
        document = measured(name, Path(asked.data))
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        (asked.kept / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{name}: {document['assessed']['rule']}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
