"""SDV's PAR on 200 of the people, 128 epochs of its own, no privacy: its time grows with people times items."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError

HEAVY = "it takes minutes for 200 people: pip install 'recveil[peers]', then --methods sdv_par"
PEOPLE, EPOCHS = 200, 128


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    if data.time is None:
        raise RecveilError("the data have no order")
    return lambda draw: streamed(data, draw)


def streamed(rows: Interactions, seed: int) -> Interactions:
    try:
        from sdv.metadata import Metadata
        from sdv.sequential import PARSynthesizer
    except ImportError:
        raise RecveilError("it is not installed: pip install 'recveil[peers]'") from None
    some = rows.take_users(np.random.default_rng(seed).permutation(rows.n_users)[:PEOPLE])
    columns = {"user": {"sdtype": "id"}, "item": {"sdtype": "categorical"}}
    metadata = Metadata.load_from_dict({"tables": {"clicks": {"columns": columns, "sequence_key": "user"}}})
    synthesizer = PARSynthesizer(metadata, epochs=EPOCHS, verbose=False)
    synthesizer.fit({"clicks": text(some)})
    drawn = synthesizer.sample_sequences(num_sequences=PEOPLE)
    return streams(drawn["clicks"] if isinstance(drawn, dict) else drawn, rows.items)


def text(rows: Interactions) -> Any:
    """user and item as text, in everybody's order: what other people's synthesizers read."""
    return rows.ordered().frame().select(pl.col("user", "item").cast(pl.String)).to_pandas()


def streams(drawn: Any, items: pl.Series) -> Interactions:
    user = np.unique(drawn["user"].astype(str), return_inverse=True)[1].astype(np.int32)
    names = pl.Series(drawn["item"].astype(str).tolist()).cast(items.dtype)
    item = items.search_sorted(names).to_numpy().astype(np.int32)
    return Interactions(user, item, pl.Series(np.arange(user.max() + 1)), items, time=np.arange(len(user)))
