"""dp-ratings with a public catalogue and no facts of items; its own settings."""

from __future__ import annotations

from typing import Any

from recveil.errors import RecveilError
from recveil.mechanisms.dp_ratings import DpRatings
from recveil.releases.catalogue import Catalogue
from recveil.releases.release import draw as draw_again
from recveil.releases.release import release

PRIVATE = True
CODE = ("mechanisms/dp_ratings", "dp", "kernels/rating_counts.py", "kernels/rating_draws.py", "kernels/discrete.py")


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int, facts: Any = None) -> Any:
    if data.rating is None:
        raise RecveilError("the data have no ratings")
    mechanism = DpRatings(epsilon=epsilon, delta=delta, scale=public.scale)
    made = release(data, mechanism, seed=seed, catalogue=Catalogue(public.items, features=facts))
    first = [made.data]
    return lambda draw: (first.pop() if first else draw_again(made.published, seed=draw).data).over_items(public.items)
