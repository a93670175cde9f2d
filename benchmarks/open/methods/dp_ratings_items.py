"""dp-ratings with the public file of items; its own settings."""

from __future__ import annotations

from typing import Any

from methods import dp_ratings

from recveil.errors import RecveilError

PRIVATE = True
CODE = dp_ratings.CODE


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    if public.facts is None or not public.facts.tells:
        raise RecveilError("there is no public file of items")
    return dp_ratings.fit(data, public, epsilon, delta, seed, public.facts.over(public.items))
