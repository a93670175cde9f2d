"""The referees: recommenders that judge what a release is still worth. A new one is a class and a line here."""

from __future__ import annotations

from recveil.recommenders.neighbours import ItemKNN, UserKNN
from recveil.recommenders.popular import MostPopular
from recveil.recommenders.ranker import Model, Ranker, recommend

RANKERS: dict[str, Ranker] = {
    r.name: r
    for r in (
        MostPopular(),
        ItemKNN(),
        UserKNN(),
    )
}

__all__ = ["RANKERS", "Model", "Ranker", "recommend"]
