"""A small transformer by DP-SGD with per-person clipping, accounted by dp-accounting; the better of two recipes."""

from __future__ import annotations

from typing import Any

from methods import transformer

PRIVATE = True
HEAVY = transformer.HEAVY
cost = transformer.cost


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    return transformer.fit(data, public, epsilon, delta, seed, f"dp-sgd-{epsilon:g}")
