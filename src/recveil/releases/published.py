"""Published statistics as a file: noise is drawn once, releases from it as often as one likes, at no further cost."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.guarantee import NOT_ON_RECORD
from recveil.items import PublicItems
from recveil.mechanism import Mechanism, PublicInfo, Synthesis
from recveil.mechanisms import spec
from recveil.releases.release import Published, Release

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
        "features": None if public.features is None else public.features.names,
        "tags": None if public.tags is None else public.tags.to_list(),
        "seeded": published.seeded,
        "chosen_on_data": published.chosen_on_data,
        "spent": spent(published),
    }
    arrays: dict[str, Any] = {_HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8)}
    if public.features is not None:
        arrays |= {f"features.{part}": getattr(public.features.table, part) for part in ("indptr", "indices")}
        arrays |= {} if public.features.vectors is None else {"features.vectors": public.features.vectors}
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
            facts = {name.removeprefix("features."): file[name] for name in file.files if "features." in name}
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
        public = PublicInfo(
            header["kind"],
            header["unit"],
            pl.Series(header["items"]),
            tags,
            header["catalogue"],
            tuple(header.get("lists", ())),
            untyped=frozenset(header.get("untyped", ())),
            features=None if header.get("features") is None else _facts(header, facts),
            sessions=bool(header.get("sessions", False)),
        )
        answer = header.get("chosen_on_data", NOT_ON_RECORD)
        return Published(mechanism, public, tuple(rounds), bool(header["seeded"]), answer)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise RecveilError(f"{path} cannot be read as published statistics") from None


def _facts(header: dict[str, Any], parts: dict[str, Any]) -> PublicItems:
    """What was public of items when the statistics were published."""
    from scipy import sparse

    n, names = len(header["items"]), tuple(header["features"])
    ones = np.ones(len(parts["indices"]), dtype=np.float32)
    table = sparse.csr_array((ones, parts["indices"], parts["indptr"]), shape=(n, len(names)))
    return PublicItems(pl.Series(header["items"]), names, table, parts.get("vectors"))


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


def told(made: Release, chosen_on_data: str) -> Release:
    """A release that says whether it was chosen on the data, and so do the statistics that it publishes."""
    published = made.published and replace(made.published, chosen_on_data=chosen_on_data)
    return replace(made, published=published, chosen_on_data=chosen_on_data)


def spent(published: Published) -> str:
    """The ledger's line: what these statistics cost, once and for all."""
    return ledger_line(published.mechanism, published.public)


def ledger_line(mechanism: Mechanism, public: PublicInfo) -> str:
    promise = mechanism.guarantee(public)
    return (
        f"spent: epsilon {promise.epsilon:g}, delta {promise.delta:g} for every {promise.unit}; drawing again from "
        "the same statistics spends nothing, another release of the same data adds its own"
    )
