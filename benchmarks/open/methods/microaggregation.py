"""microaggregation, k 5: groups of five alike people share a profile. k-anonymity, which is no differential privacy."""

from __future__ import annotations

from typing import Any

from recveil.errors import RecveilError
from recveil.mechanisms.microaggregation import Microaggregation
from recveil.releases.release import release

CODE = ("mechanisms/microaggregation.py", "kernels/mdav.py")
MOST = 25_000


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    if data.n_users > MOST:
        raise RecveilError(f"it compares everybody with everybody, and there are {data.n_users:,}")
    return lambda draw: release(data, Microaggregation(k=5), seed=draw).data.over_items(public.items)
