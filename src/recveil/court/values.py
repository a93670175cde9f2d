"""What a list is worth to a person: a number in [0, 1], as an integer in thousandths, from her own rows alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recveil.court.people import Histories
from recveil.data import Codes
from recveil.errors import RecveilError, unknown

ONE = 1000  # the value of a perfect list, and how far one person moves a sum
LONGEST_LIST = 100
METRICS = ("precision", "recall", "ndcg", "map", "hit")  # the first four in the order of the kernel


def parsed(metrics: str | Sequence[str]) -> tuple[str, ...]:
    """Names such as ndcg@10, checked."""
    names = metrics.split(",") if isinstance(metrics, str) else metrics
    found = tuple(dict.fromkeys(name.strip().lower() for name in names if name.strip()))
    for name in found:
        kind, _, n = name.partition("@")
        if kind not in METRICS:
            raise unknown("--metric", kind, METRICS)
        if not re.fullmatch(r"[1-9]\d{0,2}", n) or int(n) > LONGEST_LIST:
            raise RecveilError(f"{name}: a metric is about the first 1 to {LONGEST_LIST} items, such as {kind}@10")
    if not found:
        raise RecveilError("--metric names none; such as ndcg@10,recall@20")
    return found


def longest(metrics: Sequence[str]) -> int:
    """How many items a list needs for all of these."""
    return max(int(name.partition("@")[2]) for name in metrics)


def values(lists: Codes, people: Histories, metric: str) -> NDArray[np.int64]:
    """Of each person what her list is worth by a metric, from 0 to ONE."""
    from recveil.kernels.ranking import grade

    kind, _, n = metric.partition("@")
    grades = grade(lists, people.bounds, people.wanted, int(n))
    found = grades[:, 1] > 0 if kind == "hit" else grades[:, METRICS.index(kind)]
    whole = np.rint(ONE * np.nan_to_num(np.asarray(found, dtype=np.float64), nan=0.0))
    return np.asarray(np.clip(whole, 0, ONE), dtype=np.int64)
