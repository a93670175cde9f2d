"""audit(): a mechanism's epsilon put to the test, on data that differ in one canary.

The canary is what the guarantee protects: a whole person (or session) whose items nobody else has, or one record of
hers. An attacker who knows everything but the canary looks at the release and guesses whether it was there.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from recveil.attacks.epsilon import Bound, lower_bound
from recveil.data import Interactions, concat, from_ids
from recveil.desk.catalogue import Catalogue
from recveil.desk.release import release
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee
from recveil.mechanism import Mechanism, Public
from recveil.mechanisms import spec

Verdict = Literal["holds", "broken", "exceeded", "no claim"]
_LENGTH = 4  # items of the canary
_SIGNS = (
    "refused",
    "rows",
    "users",
    "items",
    "rows of canary items",
    "rows of the last item",
    "nearest overlap",
    "nearest has the last item",
    "people with two canary items",
    "rating of the last item",
    "canary tags",
)


@dataclass(frozen=True)
class Audited:
    """What was claimed, and what the runs say."""

    mechanism: str
    guarantee: Guarantee
    bound: Bound

    @property
    def verdict(self) -> Verdict:
        """broken: a proved claim is exceeded; exceeded: a paper's claim is, or one refuted already."""
        claimed = self.guarantee.epsilon
        if claimed is None:
            return "no claim"
        if self.bound.lower <= claimed:
            return "holds"
        return "broken" if self.guarantee.status == "proved" else "exceeded"

    def record(self) -> dict[str, Any]:
        return {
            "mechanism": self.mechanism,
            "claimed": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "status": self.guarantee.status,
            "unit": self.guarantee.unit,
            "lower": self.bound.lower,
            "confidence": self.bound.confidence,
            "runs": self.bound.runs,
            "event": self.bound.event,
            "verdict": self.verdict,
        }


def audit(
    mechanism: Mechanism,
    data: Interactions | None = None,
    *,
    runs: int = 1000,
    confidence: float = 0.95,
    seed: int | None = None,
    tick: Callable[[int], None] = lambda steps: None,  # noqa: ARG005
) -> Audited:
    """A lower confidence bound on a mechanism's epsilon, from `runs` releases of each of two neighbouring data sets."""
    data = toy(mechanism) if data is None else data
    mechanism.check_fit(data)
    public = Public(data.kind, data.unit, data.items, data.tags, True, ("tags", "users"), data.users)
    promise = mechanism.guarantee(public)
    canary = person(data)
    pair = neighbours(data, canary, promise.unit)
    whole = concat([data, canary])
    catalogue = Catalogue(whole.items, whole.tags, whole.users)

    def run(rows: Interactions, number: int) -> Interactions | None:
        try:
            return release(rows, mechanism, seed=number, catalogue=catalogue).data
        except RecveilError:  # a refusal is an output too: it must not tell the two apart either
            return None

    bound = lower_bound(
        run,
        pair,
        lambda released: signs(released, canary),
        runs=runs,
        delta=promise.delta,
        confidence=confidence,
        seed=secrets.randbits(48) if seed is None else seed * 2**32,
        tick=tick,
    )
    return Audited(spec.text(mechanism), promise, bound)


def person(data: Interactions) -> Interactions:
    """A person with items (and a tag) that nobody in the data has, and the best rating."""
    text = data.items.dtype == pl.String
    top = 0 if text else int(data.items.max())  # type: ignore[arg-type]
    items = [f"canary-{k}" for k in range(_LENGTH)] if text else [top + 1 + k for k in range(_LENGTH)]
    user = "canary" if data.users.dtype == pl.String else int(data.users.max()) + 1  # type: ignore[arg-type]
    return from_ids(
        pl.Series([user] * _LENGTH),
        pl.Series(items),
        None if data.rating is None else np.full(_LENGTH, data.rating.max()),
        None if data.time is None else np.arange(_LENGTH, dtype=data.time.dtype),
        None if data.tags is None else pl.Series(["canary"] * _LENGTH),
        data.unit,
    )


def neighbours(data: Interactions, canary: Interactions, unit: str | None) -> tuple[Interactions, Interactions]:
    """Two data sets that differ in what the guarantee protects: the canary, or one of her records."""
    whole = concat([data, canary])
    if unit in (None, "user", "session"):
        return whole, data
    if unit == "tag" and data.tags is not None:
        tags = pl.Series([*canary.frame()["tag"][:-1], data.tags[0]])  # the last one replaced
        other = from_ids(canary.frame()["user"], canary.frame()["item"], canary.rating, canary.time, tags, canary.unit)
        return whole, concat([data, other])
    if unit in ("record", "bit"):
        return whole, concat([data, canary.take(np.arange(_LENGTH - 1))])
    if unit == "rating" and canary.rating is not None and data.rating is not None:
        lowest = np.append(canary.rating[:-1], data.rating.min())
        other = from_ids(canary.frame()["user"], canary.frame()["item"], lowest, canary.time, None, canary.unit)
        return whole, concat([data, other])
    raise RecveilError(f"there is no canary for the unit {unit}: known are user, session, record, bit, tag, rating")


def signs(released: Interactions | None, canary: Interactions) -> Mapping[str, float]:
    """What an attacker looks at: sizes, traces of the canary's items, and the record that is most like hers."""
    if released is None:
        return dict.fromkeys(_SIGNS, 0.0) | {"refused": 1.0}
    ids, wanted = released.items.to_numpy(), canary.items.to_list()
    hers, last = np.isin(ids, wanted)[released.item], (ids == wanted[-1])[released.item]
    overlap = np.bincount(released.user[hers & ~last], minlength=released.n_users)
    nearest = int(np.argmax(overlap))
    tagged = 0.0
    if released.tags is not None and released.tag is not None:
        tagged = float((released.tags.to_numpy() == "canary")[released.tag].sum())
    values = (
        0.0,
        len(released),
        len(np.unique(released.user)),
        len(np.unique(released.item)),
        hers.sum(),
        last.sum(),
        overlap[nearest],
        (last & (released.user == nearest)).any(),
        (np.bincount(released.user[hers], minlength=released.n_users) >= 2).sum(),
        0.0 if released.rating is None else released.rating[last].sum(),
        tagged,
    )
    return dict(zip(_SIGNS, map(float, values), strict=True))


def toy(mechanism: Mechanism) -> Interactions:
    """A few people in two camps, with what the mechanism needs."""
    rng = np.random.default_rng(8)
    user = np.repeat(np.arange(40), 6)
    item = np.concatenate([rng.choice(8, 6, replace=False) + 8 * (u % 2) for u in range(40)])
    return from_ids(
        pl.Series(user),
        pl.Series(item),
        rng.integers(1, 6, len(user)) if "rating" in mechanism.needs else None,
        np.arange(len(user)),
        pl.Series([f"t{t}" for t in item % 5]) if "tag" in mechanism.needs else None,
    )
