"""What is customary: new names for people, and only items that at least 10 of them have. It promises nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

LEAST = 10


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    people = np.bincount(data.matrix(binary=True).indices, minlength=data.n_items)
    return lambda _: data.take(people[data.item] >= LEAST)
