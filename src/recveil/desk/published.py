"""Published statistics as a file: noise is drawn once, releases from it as often as one likes, at no further cost."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.desk.release import Published
from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.mechanism import Mechanism, Public, Synthesis
from recveil.mechanisms import spec

_HEADER = "recveil-statistics"


def save_statistics(published: Published, path: str | Path) -> None:
    """Write statistics; whoever holds the file knows what the guarantee says, and no more, unless they were seeded."""
    public = published.public
    header = {
        "mechanism": spec.text(published.mechanism),
        "kind": public.kind,
        "unit": public.unit,
        "catalogue": public.catalogue,
        "lists": public.lists,
        "untyped": sorted(public.untyped),
        "sessions": public.sessions,
        "items": public.items.to_list(),
        "features": None if public.features is None else public.features.to_dict(as_series=False),
        "tags": None if public.tags is None else public.tags.to_list(),
        "seeded": published.seeded,
        "spent": spent(published),
    }
    arrays: dict[str, Any] = {_HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8)}
    for number, tables in enumerate(published.rounds):
        arrays |= {f"{number}/{name}": table for name, table in tables.items()}
    with written(path) as file:
        np.savez_compressed(file, **arrays)


def is_statistics(path: str | Path) -> bool:
    """Whether a file holds published statistics."""
    try:
        with zipfile.ZipFile(path) as file:
            return f"{_HEADER}.npy" in file.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def load_statistics(path: str | Path) -> Published:
    """Statistics from a file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file[_HEADER].tobytes())
            rounds: list[dict[str, Any]] = []
            for name in file.files:
                number, slash, table = name.partition("/")
                if slash:
                    rounds += [{} for _ in range(int(number) + 1 - len(rounds))]
                    rounds[int(number)][table] = file[name]
        mechanism = spec.parse(header["mechanism"])
        if not isinstance(mechanism, Synthesis):
            raise ValueError(mechanism.name)
        tags = None if header["tags"] is None else pl.Series(header["tags"])
        public = Public(
            header["kind"],
            header["unit"],
            pl.Series(header["items"]),
            tags,
            header["catalogue"],
            tuple(header.get("lists", ())),
            untyped=frozenset(header.get("untyped", ())),
            features=pl.DataFrame(header["features"]) if header.get("features") else None,
            sessions=bool(header.get("sessions", False)),
        )
        return Published(mechanism, public, tuple(rounds), bool(header["seeded"]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise RecveilError(f"{path} cannot be read as published statistics") from None


def drawing(published: Published, wanted: str) -> Published:
    """The statistics with the drawing parameters of another spec of the same mechanism."""
    made = published.mechanism
    name = wanted.strip().partition(":")[0]
    if name != made.name:
        raise RecveilError(f"the statistics were published by {made.name}, so {name} cannot draw from them")
    other = spec.parse(wanted, otherwise=made)
    fixed = [k for k in vars(made) if k not in made.drawing and getattr(other, k) != getattr(made, k)]
    if fixed:
        raise RecveilError(
            f"{fixed[0]} was {getattr(made, fixed[0])} when the statistics were published; it is fixed now"
        )
    assert isinstance(other, Synthesis)
    return replace(published, mechanism=other)


def spent(published: Published) -> str:
    """The ledger's line: what these statistics cost, once and for all."""
    return ledger_line(published.mechanism, published.public)


def ledger_line(mechanism: Mechanism, public: Public) -> str:
    promise = mechanism.guarantee(public)
    return (
        f"spent: epsilon {promise.epsilon:g}, delta {promise.delta:g} for every {promise.unit}; drawing again from "
        "the same statistics spends nothing, another release of the same data adds its own"
    )
