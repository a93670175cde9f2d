"""dp-streams with a public catalogue and no facts of items; its own settings, no order: lists are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recveil.mechanisms.dp_streams import DpStreams
from recveil.releases.catalogue import Catalogue
from recveil.releases.release import draw as draw_again
from recveil.releases.release import release

PRIVATE = True
CODE = ("mechanisms/dp_streams", "dp", "kernels/pair_tables.py", "kernels/draws.py", "kernels/discrete.py")


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int, facts: Any = None) -> Any:
    liked = public.liked is not None and data.rating is not None
    clicks = replace(data.take(data.rating >= public.liked) if liked else data, rating=None)
    mechanism = DpStreams(epsilon=epsilon, delta=delta, order="none")
    made = release(clicks, mechanism, seed=seed, catalogue=Catalogue(public.items, features=facts))
    first = [made.data]

    def sampler(draw: int) -> Any:
        rows = first.pop() if first else draw_again(made.published, seed=draw).data
        return replace(rows.over_items(public.items), time=None)

    return sampler
