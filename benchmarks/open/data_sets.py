"""The data sets of the open benchmark: where each lies, the hash of its files, how it is read, and its protocol.

They are looked for in the folder that RECVEIL_DATA names, else in shared/data beside the project. A file with another
hash is another data set: it is said, and left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.formats.item_file import public_items, read_item_file
from recveil.items import PublicItems


@dataclass(frozen=True)
class DataSet:
    """protocol: a key of protocols.PROTOCOLS. printed: figures of others under the same protocol, by method and metric.

    items: the public file of items, where there is one. scale: of ratings, as everybody knows it. liked: from which
    rating on an item is one to be found; nothing: all are. attacked: whether shadows are affordable.
    """

    title: str
    files: Mapping[str, str]
    read: Callable[[Path], Interactions]
    protocol: str = "people"
    items: str = ""
    scale: str = ""
    liked: float | None = None
    attacked: bool = False
    printed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Loaded:
    """All rows, over the public catalogue; what is public of the items; the rows that are a test set by themselves."""

    rows: Interactions
    facts: PublicItems | None
    test: Interactions | None = None


def _columns(file: str, time: str | None = None, rating: bool = False) -> Callable[[Path], Interactions]:
    def read(folder: Path) -> Interactions:
        rows = pl.read_parquet(folder / file)
        order = None if time is None else rows[time].cast(pl.Int64).fill_null(np.iinfo(np.int64).max).to_numpy()
        ratings = rows["rating"].cast(pl.Float64).to_numpy() if rating else None
        return from_ids(rows["user"].cast(pl.Int64), rows["item"].cast(pl.Int64), ratings, order)

    return read


def _sessions(folder: Path) -> Interactions:
    clicks = pl.read_parquet(folder / "sessions.parquet").select("session", "clicks")
    flat = clicks.explode("clicks", empty_as_null=False).drop_nulls()
    return from_ids(
        flat["session"].cast(pl.Int64), flat["clicks"].cast(pl.Int64), time=np.arange(len(flat)), unit="session"
    )


def _check_ins(folder: Path) -> Interactions:
    """LightGCN's split is in the file: the test rows are marked by a time of 1, the others by 0."""
    rows = pl.read_parquet(folder / "clicks.parquet")
    marked = rows["test"].cast(pl.Int64).to_numpy()
    return from_ids(rows["user"].cast(pl.Int64), rows["item"].cast(pl.Int64), time=marked)


SETS: dict[str, DataSet] = {
    "yahoo-music-mbrw": DataSet(
        "Yahoo Music, a sample",
        {"ratings.parquet": "f030b43289ecedaee4064d3c64a4b9310ed2178da6ac65f673a8253b6cbacff8"},
        _columns("ratings.parquet", "order", rating=True),
        scale="0..100/10",
        attacked=True,
    ),
    "anime": DataSet(
        "Anime",
        {
            "clicks.parquet": "3bbda117748f63fbecebbd3088bb253bbf1382df68696dcec2df5ecbaa56f29f",
            "items.parquet": "b3eceab15e50718f9f5ceda2c9a6ab1c3af2674b5014569259ca5df0dc292e1a",
        },
        _columns("clicks.parquet"),
        items="items.parquet",
        attacked=True,
    ),
    "ml-1m": DataSet(
        "MovieLens 1M",
        {
            "ratings.parquet": "92a0222dbb2972a71c92e7702c323dac38ddf7563374c612d8b8dc97de42d2cb",
            "items.parquet": "9316b77e820a7cf9ff5eb93435faff561d9480ad8677837d634dc1dca82cc3fc",
        },
        _columns("ratings.parquet", "order", rating=True),
        protocol="halves",
        items="items.parquet",
        scale="1..5",
        attacked=True,
    ),
    "jester": DataSet(
        "Jester 1",
        {"ratings.parquet": "d2ed6a437abdd36d05264b4b8b0f36a2c08532a3dcb3471d9a5ef54da38e8a4e"},
        _columns("ratings.parquet", rating=True),
        scale="-10..10",
        liked=5.0,
        attacked=True,
    ),
    "beauty": DataSet(
        "Amazon Beauty",
        {
            "clicks.parquet": "ec002ce7df228d6f130a425c7ebd8d4a2106321357035cd31cdfc36f707d5037",
            "items.parquet": "024d767d091932f72080c9cdacace1795c83aac5073fadc02a155e978edbf821",
        },
        _columns("clicks.parquet", "order"),
        protocol="last",
        items="items.parquet",
        printed={"SASRec on the real rows": {"HR@10": 0.0605}, "popular": {"HR@10": 0.0152}},
    ),
    "toys": DataSet(
        "Amazon Toys",
        {
            "clicks.parquet": "d63516d79dca8063a8a22d90097a49116333513c2fec354da4c195e75d2b420a",
            "items.parquet": "56d64e815d9e59134f1605530dca2f74627849e5f89a41eef9c2fb6abbee5f99",
        },
        _columns("clicks.parquet", "order"),
        protocol="last",
        items="items.parquet",
        printed={"SASRec on the real rows": {"HR@10": 0.0675}, "popular": {"HR@10": 0.0113}},
    ),
    "dunnhumby": DataSet(
        "dunnhumby, The Complete Journey",
        {
            "purchases.parquet": "fb45ed4c12b00766edf4041a2cd682910fb48c3307e50454422df817dfcfce03",
            "items.parquet": "bb97e6f5032710ae144c737779f0f750e63422476e970aa335c7540200390ac6",
        },
        _columns("purchases.parquet", "time"),
        items="items.parquet",
    ),
    "diginetica": DataSet(
        "Diginetica",
        {
            "sessions.parquet": "8d35733bbd591934d1d5b90364568975a32086a2fffb81f85df1886183ceeb2b",
            "items.parquet": "96123cd55d0b39eb824f7f83c15a098a47aa40269f8cb42aa336f044943a96d9",
        },
        _sessions,
        protocol="sessions",
        items="items.parquet",
    ),
    "nowplaying": DataSet(
        "#nowplaying",
        {
            "sessions.parquet": "6769340bb1c98354e19e0fc76da501aeec233756554a5b025c1d0327a378e323",
            "items.parquet": "0ed9beb66f8f37672f8afe3753cdd2eee2ebf551c0603b5d1825324a7f3d11a8",
        },
        _sessions,
        protocol="sessions",
        items="items.parquet",
    ),
    "gowalla": DataSet(
        "Gowalla",
        {"clicks.parquet": "994fea80fa2fbb3c58df7b6aa9793992c8010de675b3f7c36d959d7c001d9cfe"},
        _check_ins,
        protocol="own",
        printed={"LightGCN on the real rows": {"recall@20": 0.1824, "NDCG@20": 0.1547}},
    ),
}


def folder() -> Path:
    return Path(os.environ.get("RECVEIL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


def absent(name: str, where: Path | None = None) -> str:
    """Why a data set cannot be used; nothing where it can."""
    place = (where or folder()) / name
    for file, known in SETS[name].files.items():
        if not (place / file).is_file():
            return f"{name}/{file} is not there; RECVEIL_DATA names the folder of the data sets"
        found = sha256((place / file).read_bytes()).hexdigest()
        if found != known:
            return f"{name}/{file} is another file: its hash begins {found[:8]}, not {known[:8]}"
    return ""


def load(name: str, where: Path | None = None) -> Loaded:
    if reason := absent(name, where):
        raise RecveilError(reason)
    chosen, place = SETS[name], (where or folder()) / name
    rows = chosen.read(place)
    facts = _facts(place / chosen.items) if chosen.items else None
    return Loaded(rows if facts is None else rows.over_items(facts.items), facts)


def _facts(path: Path) -> PublicItems:
    frame: Any = read_item_file(path)
    return public_items(frame.with_columns(pl.col("item").cast(pl.Int64)), str(path))
