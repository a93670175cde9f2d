"""mbrw with its own settings: synthetic streams by memory biased random walks. It promises nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recveil.mechanisms.mbrw import MBRW
from recveil.releases.release import release

CODE = ("mechanisms/mbrw", "kernels/walks.py")


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    clicks = replace(data, rating=None)
    return lambda draw: release(clicks, MBRW(), seed=draw).data.over_items(public.items)
