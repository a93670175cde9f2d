"""A list of planted bugs, each of which a named check catches. A check that lets one pass is no check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt
from typing import Any

import numpy as np
import promises
import pytest

from recveil.dp.noise import gaussian
from recveil.mechanism import Synthesis
from recveil.mechanisms import dp_streams, dp_tags
from recveil.mechanisms.dp_streams import UNIT, counting
from recveil.mechanisms.spec import parse
from recveil.randomness import Source

STREAMS, TAGS, PEOPLE = (
    "dp-streams:epsilon=2,delta=0.001", "dp-tags:epsilon=2", "dp-tags:epsilon=2,delta=0.001,unit=user",
)  # fmt: skip


@dataclass(frozen=True)
class Seam:
    """Where a bug is planted: in a module, or in a mechanism's class."""

    patch: pytest.MonkeyPatch
    module: Any
    counting: Any  # the module that bounds contributions
    kind: Any


def zero_cells_have_no_noise(at: Seam) -> None:
    honest = at.kind.publish

    def publish(self: Any, counts: Any, *rest: Any) -> Any:
        made = honest(self, counts, *rest)
        truth = promises.tables(counts, made)
        return {name: np.where(truth[name].reshape(np.shape(t)) == 0, 0, t) for name, t in made.items()}

    at.patch.setattr(at.kind, "publish", publish)


def _weigh(weight: Callable[[int, int], int]) -> Callable[..., Any]:
    """count_items with another weight for each of a person's items."""

    def count(starts: Any, item: Any, n: int, unit: int) -> Any:
        found = np.zeros(n, dtype=np.int64)
        for a, b in pairwise(starts):
            mine = np.unique(item[a:b])
            found[mine] += weight(unit, len(mine)) if len(mine) else 0
        return found

    return count


def a_cap_inside_the_bound(at: Seam) -> None:
    at.patch.setattr(at.counting, "count_items", _weigh(lambda unit, t: int(unit / sqrt(min(t, 4)))))


def rounded_up(at: Seam) -> None:
    at.patch.setattr(at.counting, "count_items", _weigh(lambda unit, t: ceil(unit / sqrt(t))))


def two_tables_from_one_stream(at: Seam) -> None:
    honest = Source.derive
    same = {"order": "pairs", "item": "tag", "user_tag": "item_tag"}
    at.patch.setattr(Source, "derive", lambda self, *name: honest(self, *(same.get(str(n), n) for n in name)))


def noise_scaled_to_another_table(at: Seam) -> None:
    at.patch.setattr(at.module, "gaussian", lambda v: gaussian(max(1, v // 4)))


def counted_before_rows_are_distinct(at: Seam) -> None:
    at.patch.setattr(at.module, "distinct", lambda rows: rows)


def sizes_read_from_the_data(at: Seam) -> None:
    honest = at.kind.publish

    def publish(self: Any, counts: Any, *rest: Any) -> Any:
        return {name: t[: int(np.flatnonzero(promises.tables(counts, {name: t})[name]).max()) + 1]
                for name, t in honest(self, counts, *rest).items()}  # fmt: skip

    at.patch.setattr(at.kind, "publish", publish)


LIST = [
    (zero_cells_have_no_noise, promises.noise_in_every_cell, (STREAMS, TAGS, PEOPLE)),
    (two_tables_from_one_stream, promises.noise_in_every_cell, (STREAMS, PEOPLE)),
    (noise_scaled_to_another_table, promises.noise_in_every_cell, (STREAMS, PEOPLE)),
    (a_cap_inside_the_bound, promises.contributions_are_bounded, (STREAMS, PEOPLE)),
    (rounded_up, promises.contributions_are_bounded, (STREAMS, PEOPLE)),
    (counted_before_rows_are_distinct, promises.repeated_rows_change_nothing, (TAGS,)),
    (sizes_read_from_the_data, promises.tables_have_the_size_of_the_lists, (STREAMS, TAGS)),
]


@pytest.mark.parametrize(
    ("bug", "check", "spec"),
    [(bug, check, spec) for bug, check, specs in LIST for spec in specs],
    ids=[f"{bug.__name__}-{spec}" for bug, _, specs in LIST for spec in specs],
)
def test_a_planted_bug_is_caught(bug: Any, check: Any, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = parse(spec)
    assert isinstance(made, Synthesis)
    data = promises.little_world("tag" in made.needs)
    laws = made.laws(promises.public_of(data))  # type: ignore[attr-defined]
    module = dp_streams if spec.startswith("dp-streams") else dp_tags
    bug(Seam(monkeypatch, module, counting if module is dp_streams else dp_tags, type(made)))
    stated = [laws] if check is promises.noise_in_every_cell else []
    with pytest.raises(AssertionError):
        check(made, data, *stated)


def test_honest_weights_are_those_of_the_list() -> None:
    """The twin that the planted bugs change is right as it stands."""
    rng = np.random.default_rng(1)
    item = rng.integers(0, 9, 60)
    starts = np.array([0, 7, 7, 30, 60])
    honest = counting.count_items(starts, item.astype(np.int32), 9, UNIT)
    assert np.array_equal(honest, _weigh(lambda unit, t: int(unit / sqrt(t)))(starts, item, 9, UNIT))
