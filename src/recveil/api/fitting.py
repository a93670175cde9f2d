"""inspect, and fit and sample: the two halves of a release that is drawn from noisy statistics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from recveil.api.functions import Columns
from recveil.api.functions import release as released
from recveil.api.keywords import keywords_of
from recveil.api.owners_screen import SCREEN
from recveil.errors import RecveilError
from recveil.evaluation.inspect import inspect as look
from recveil.guarantee import Guarantee
from recveil.mechanism import Mechanism
from recveil.releases.inputs import Input
from recveil.releases.release import Published, Release, draw


@dataclass(frozen=True)
class FittedMechanism:
    """Noisy statistics of a log, out of which people may be drawn as often as one likes: nothing more is spent."""

    mechanism: Mechanism
    guarantee: Guarantee
    published: Published = field(repr=False)

    def sample(self, people: int | None = None, *, seed: int | None = None) -> Release:
        """So many new people; else as many as the statistics tell of."""
        published = self.published
        if people is not None:
            if "k" not in published.mechanism.drawing:
                raise RecveilError(f"{published.mechanism.name} draws as many people as its statistics tell of")
            drawn: Any = replace(published.mechanism, k=people)  # type: ignore[call-arg]
            published = replace(published, mechanism=drawn)
        return draw(published, seed=seed)

    def __repr__(self) -> str:
        return f"FittedMechanism({self.mechanism})\n{self.guarantee.sentence}\n.sample() draws people from it"


@keywords_of(released)
def fit(data: Any, mechanism: str | Mechanism, **wishes: Any) -> FittedMechanism:
    """Spend the budget once: the noisy statistics of data, out of which `.sample()` draws.

    data, mechanism: as for `release`, and so are all other arguments.

    >>> fitted = recveil.fit("sample:films?users=300,items=80", "dp-streams", epsilon=50, delta=1e-4, seed=1)
    >>> fitted.sample(200, seed=2).data.n_users
    200
    """
    made = released(data, mechanism, **wishes)
    if made.published is None:
        raise RecveilError(f"{made.mechanism.name} masks rows and fits no statistics; recveil.release does it")
    return FittedMechanism(made.mechanism, made.guarantee, made.published)


def inspect(data: Any, columns: Columns = None, schema: Any = None) -> dict[str, Any]:
    """What are these data? Rows, people, items, ratings, times, repeats, as they stand there.

    data, columns, schema: as for `read`.

    >>> recveil.inspect("sample:films?users=50")["users"]
    50
    """
    return look(Input(data, columns, schema=schema).all_rows(SCREEN))
