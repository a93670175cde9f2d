"""The local engine: the data in chunks of whole users or items, on the cores of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import By, Interactions, concat
from recveil.mechanism import Masked

CHUNK_ROWS = 4_000_000
Tick = Callable[[int], None]  # told how many rows were just done


def total(data: Interactions, count: Callable[[Interactions], Any], by: By, tick: Tick) -> Any:
    """The sum of `count` over all chunks; None where it counts nothing."""
    found, chunks = None, 0
    for chunk in data.chunks(by, CHUNK_ROWS):
        some = count(chunk)
        tick(len(chunk))
        chunks += 1
        if some is not None:  # added as they come: two tables at a time, however many chunks
            found = summed(found, some)
    return found if chunks else count(data)  # no rows are zero counts


def summed(found: Any, some: Any) -> Any:
    """What was counted so far and what a chunk counts; large tables add in place, which nobody else holds."""
    if found is None:
        return some
    if isinstance(found, np.ndarray):  # a mechanism may have handed out what it cannot write to
        return found + some
    found += some
    return found


def narrow(data: Interactions, column: str, codes: NDArray[Any]) -> tuple[Interactions, pl.Series]:
    """The rows with these items (tags) of the vocabulary alone, coded over them; and their ids."""
    ids = getattr(data, column).gather(codes)
    return getattr(data, f"over_{column}")(ids), ids


def rewrite(
    data: Interactions, mask: Callable[[Interactions], Masked], by: By, tick: Tick, everyone: bool = False
) -> Masked:
    """Every chunk masked, together again; with `everyone` the people without rows are in the chunks too."""
    parts = []
    for chunk in _people(data) if everyone else data.chunks(by, CHUNK_ROWS):
        parts.append(mask(chunk))
        tick(len(chunk))
    if len(parts) == 1:
        return parts[0]
    rows = concat([p.rows for p in parts])
    if all(p.origin is data.users for p in parts):
        origin = data.users
    else:  # every chunk brought users of its own
        named = pl.concat([pl.DataFrame({"released": p.rows.users, "origin": p.origin}) for p in parts])
        origin = pl.DataFrame({"released": rows.users}).join(
            named.unique("released"), on="released", how="left", maintain_order="left"
        )["origin"]
    notes: dict[str, int] = {}
    for part in parts:
        for name, value in part.notes.items():
            notes[name] = notes.get(name, 0) + value
    return Masked(rows, origin, notes)


def _people(data: Interactions) -> Iterator[Interactions]:
    """Chunks of whole users, each over its own people alone, those without rows among them."""
    chunks = list(data.chunks("user", CHUNK_ROWS))
    begins = [0, *(int(chunk.user[0]) for chunk in chunks[1:]), data.n_users]
    code = np.arange(data.n_users)
    for chunk, begin, end in zip(chunks or [data], begins[:-1], begins[1:], strict=True):
        yield chunk.among((begin <= code) & (code < end))
