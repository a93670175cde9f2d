"""The real rows, as they are: what can be learnt where nobody is protected."""

from __future__ import annotations

from typing import Any


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    return lambda _: data
