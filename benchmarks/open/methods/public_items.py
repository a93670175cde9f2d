"""Public items with no private data at all: items alike to those that a person is shown, by the file of items alone."""

from __future__ import annotations

from typing import Any

from recveil.errors import RecveilError
from recveil.evaluation.recommenders.items_alone import items_alone


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    if public.facts is None or not public.facts.tells:
        raise RecveilError("there is no public file of items")
    return items_alone(public.facts.over(public.items))
