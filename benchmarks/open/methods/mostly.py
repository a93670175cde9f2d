"""MOSTLY AI's autoregressive network with its own settings, no privacy; it ends by itself, or after two minutes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from methods.sdv_par import streams, text

from recveil.data import Interactions
from recveil.errors import RecveilError

HEAVY = "it takes minutes: pip install 'recveil[peers]', then --methods mostly"
MINUTES = 2.0


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    if data.time is None:
        raise RecveilError("the data have no order")
    return lambda draw: streamed(data, draw)


def streamed(rows: Interactions, seed: int) -> Interactions:
    try:
        from mostlyai.engine import TabularARGN
    except ImportError:
        raise RecveilError("it is not installed: pip install 'recveil[peers]'") from None
    frame = text(rows)
    everybody = frame[["user"]].drop_duplicates().rename(columns={"user": "id"})
    network = TabularARGN(
        tgt_context_key="user",
        ctx_primary_key="id",
        ctx_data=everybody,
        tgt_encoding_types={"item": "TABULAR_CATEGORICAL"},
        max_training_time=MINUTES,
        random_state=seed,
    )
    network.fit(frame)
    drawn = network.sample(ctx_data=everybody, rare_category_replacement_method="sample")
    return streams(drawn[drawn["item"].isin(set(frame["item"]))], rows.items)
