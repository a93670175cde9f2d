"""assess(): before anything is released, what would happen if only the ids were replaced?"""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.attacks.linkage import exposure, linkage
from recveil.evaluation.attacks.truth import truth
from recveil.evaluation.facts import LogFacts, facts_of
from recveil.formats.files import written
from recveil.measurement import Measurement, Trial, frame_of
from recveil.splits import holdout_users
from recveil.views.records import records

RISKIEST = 10
SCREENED = 20_000  # people who are attacked to find the riskiest: of more, those whose items are rarest
FEW = 5  # people: an item of fewer is a fingerprint
_SMALL = 200


class Assessment(dict[str, Any]):
    """What was found, as plain data that shows itself; for the owner's eyes: it names the riskiest people."""

    def frame(self) -> pl.DataFrame:
        """The linkage curve, a row for each attacker and number of known items."""
        return frame_of([Measurement(**record) for record in self["measurements"]])

    def to_pandas(self) -> Any:
        return self.frame().to_pandas()

    def save(self, path: str | Path) -> None:
        """As a JSON document, readable by its owner alone."""
        with written(path, private=True) as file:
            file.write(json.dumps(self, ensure_ascii=False, allow_nan=False, default=str).encode())

    def __repr__(self) -> str:
        return "\n".join(["Assessment", *self["words"][:12], ".frame() has the numbers"])

    def _repr_html_(self) -> str:
        words = "".join(f"<li>{escape(line)}</li>" for line in self["words"])
        return f"<ul>{words}</ul>{self.frame()._repr_html_()}"


def assess(data: Interactions, *, seed: int = 0, known: tuple[int, ...] | None = None) -> dict[str, Any]:
    """The linkage curve of these data with new ids, who and what is most exposed, and warnings, also in plain words."""
    if not len(data):
        raise RecveilError("there are no rows to assess")
    data = data.compact()
    subject = itself(data)
    curve = linkage(subject, rng_of(seed, "linkage"), known=known)
    curve = _with_control(curve, data, seed, known)
    of = records(data)
    riskiest_ = riskiest(subject, rng_of(seed, "riskiest"))
    return summary(facts_of(data), of.popularity(), of.lengths[of.people], data.items, curve, riskiest_)


def summary(
    facts: LogFacts,
    holders: NDArray[np.int64],
    lengths: NDArray[np.int64],
    items: pl.Series,
    curve: list[Measurement],
    exposed: list[dict[str, Any]],
) -> dict[str, Any]:
    """What was found, also in words. holders: how many people have each item; lengths: how many items each has."""
    rarest = np.lexsort((np.arange(len(items)), holders))[:RISKIEST]
    found: dict[str, Any] = {
        "kind": facts.specimen.kind,
        "rows": facts.rows,
        "users": facts.n_users,
        "items": len(items),
        "measurements": [m.record() for m in curve],
        "riskiest_users": exposed,
        "riskiest_items": [{"item": items[int(i)], "people": int(holders[i])} for i in rarest],
        "items_of_one_person": int(np.count_nonzero(holders == 1)),
        "items_of_few": int(np.count_nonzero(holders < FEW)),
        "rows_per_person": contributions(facts.each),
        "warnings": warnings(facts, lengths),
    }
    found["words"] = _words(found, curve)
    return found


def itself(data: Interactions) -> Trial:
    """The data released with new ids and nothing else."""
    return Trial(data, replace(data, time=None), owner=np.arange(data.n_users, dtype=np.int32))


def riskiest(subject: Trial, rng: np.random.Generator, *, known: int = 4, top: int = RISKIEST) -> list[dict[str, Any]]:
    """The people whom an attacker who knows `known` random items finds most surely, by the ids of the data.

    Of more than SCREENED people those are attacked whose items are the rarest.
    For the owner's eyes: never part of a bundle. Nobody is named where the release does not say whose record is whose.
    """
    train, released = records(subject.train), records(subject.released)
    whose = truth(train, released, subject.owner)
    longest = int(train.lengths[whose.people].max(initial=0))
    if whose.how == "closest" or not longest:
        return []
    known = min(known, longest)
    people, success = exposure(subject, rng, known=known, most=SCREENED)
    first = np.lexsort((people, -success))[:top]
    return [{"user": subject.train.users[int(people[k])], "known": known, "success": float(success[k])} for k in first]


def riskiest_rows(data: Interactions, seed: int) -> list[int]:
    """Of the riskiest people of an assessment with this seed, where each first stands in the data: rows from 1 on."""
    compact = data.compact()
    ids = compact.users.to_list()
    found = [ids.index(r["user"]) for r in riskiest(itself(compact), rng_of(seed, "riskiest"))]
    return [int(np.argmax(compact.user == code)) + 1 for code in found]


def contributions(each: NDArray[np.int64]) -> dict[str, float]:
    """How many rows the people have: a promise about one row is that many times weaker for a person."""
    shares = {"median": 0.5, "most": 0.9, "largest": 1.0}
    return {name: float(np.quantile(each[each > 0], share, method="higher")) for name, share in shares.items()}


def warnings(facts: LogFacts, lengths: NDArray[np.int64]) -> list[str]:
    """What makes these data hard to protect, or hard to measure."""
    found = []
    if len(lengths) < _SMALL:
        found.append(f"only {len(lengths)} people: intervals are wide, and every person stands out among few")
    if (short := float(np.mean(lengths < 2))) > 0.1:
        found.append(f"{short:.0%} of the people have a single item: nothing can be said about knowing more")
    if len(lengths) > 1 and lengths.max() > 20 * np.median(lengths):
        found.append(f"the longest profile has {lengths.max()} items, the median {np.median(lengths):g}: it stands out")
    if facts.levels is not None and (levels := len(facts.levels.values)) > 20:
        found.append(f"ratings take {levels} values: so fine a rating is nearly a fingerprint")
    if facts.specimen.time is not None and facts.specimen.kind == "ratings":
        found.append("there are times: whoever knows when something was rated needs fewer items; do not release them")
    return found


def _with_control(
    curve: list[Measurement], data: Interactions, seed: int, known: tuple[int, ...] | None
) -> list[Measurement]:
    """The control of each row, from a second run in which a tenth of the people was kept out."""
    if data.n_users < 20:
        return curve
    train, held = holdout_users(data, 0.1, rng_of(seed, "holdout"))
    subject = replace(itself(train), holdout=held)
    try:
        again = linkage(subject, rng_of(seed, "control"), known=known)
    except RecveilError:  # the only profiles with so many items were kept out
        return curve
    control = {(m.name, *sorted(m.params.items())): m.control for m in again}
    return [replace(m, control=control.get((m.name, *sorted(m.params.items())))) for m in curve]


def _words(found: dict[str, Any], curve: list[Measurement]) -> list[str]:
    who = "people" if found["kind"] != "sessions" else "sessions"
    said = []
    for m in curve:
        if m.name != "linkage" or "crowd" in m.params or m.params["attacker"] != "intersection":
            continue
        known = m.params["known"]
        what = ("item" if known == 1 else "items") + (" with the rating" if m.params["ratings"] else "")
        line = f"knowing {known} {what} finds the record of {m.value:.1%} [{m.low:.1%}, {m.high:.1%}]"
        said.append(line + f" of the {who}; a blind guess finds {m.chance:.2%}")
    if scored := [m for m in curve if m.name == "linkage" and "crowd" in m.params]:
        best = max(scored, key=lambda m: m.value)
        line = f"in a crowd of {best.params['crowd']:,} {who}, drawn, the strongest attacker finds {best.value:.1%}"
        said.append(f"{line} [{best.low:.1%}, {best.high:.1%}] knowing {best.params['known']} items")
    said.append(
        f"{found['items_of_one_person']:,} of {found['items']:,} items belong to one person alone, "
        f"{found['items_of_few']:,} to fewer than {FEW}"
    )
    if found["kind"] == "tags":
        number = {name: f"{k:,.0f}" for name, k in found["rows_per_person"].items()}
        said.append(
            f"a person has {number['median']} tags in the median, nine in ten have at most {number['most']}, the "
            f"busiest has {number['largest']}: a promise about one tag is that many times weaker for the person"
        )
    sure = [r for r in found["riskiest_users"] if r["success"] > 0.99]
    if found["riskiest_users"]:
        said.append(
            f"the {len(found['riskiest_users'])} riskiest {who}: {len(sure)} of them are found for certain by "
            f"{found['riskiest_users'][0]['known']} random items"
        )
    return said + [f"warning: {w}" for w in found["warnings"]]


def rng_of(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, *name.encode()])
