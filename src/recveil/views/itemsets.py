"""Frequent itemsets and association rules by Apriori, on true data (p = 1) or on perturbed data (supports estimated).

On perturbed data a support is an estimate with a standard error beside it, and subsets of a frequent itemset are
estimated on their own: an itemset can come out larger than a part of it, and pruning can lose true ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.views.bits import Columns
from recveil.views.supports import check_length, check_p, itemset_support

Itemset = tuple[int, ...]  # item codes in order


@dataclass(frozen=True)
class Support:
    """An estimated support (a number of users) and its standard error, 0 where the data were not perturbed."""

    value: float
    error: float


@dataclass(frozen=True)
class Rule:
    """Who has `left` has `right` too."""

    left: Itemset
    right: Itemset
    support: Support
    confidence: float
    lift: float


def frequent_itemsets(
    data: Columns, minsup: float, *, p: float = 1.0, longest: int = 4, most: int = 1_000_000
) -> dict[Itemset, Support]:
    """Itemsets whose (estimated) support is at least `minsup`: a share of the users below 1, a number of them from 1.

    Apriori: candidates of n items are those whose subsets of n - 1 items are all frequent. More than `most` candidates
    of one length are refused.
    """
    check_p(p)
    check_length(longest)
    least = required(minsup, data.n_users)
    level = _keep(data, np.arange(data.n_items, dtype=np.int32)[:, None], p, least)
    if not level:
        top = float(itemset_support(np.stack([data.n_users - data.singles, data.singles], 1), p)[0].max())
        raise RecveilError(f"minsup {least:g} is above every item: the largest support is {top:.1f}")
    found = dict(level)
    for _ in range(longest - 1):
        candidates = list(_candidates(list(level), most))
        if not candidates:
            break
        level = _keep(data, np.array(candidates, dtype=np.int32), p, least)
        found |= level
    return found


def association_rules(itemsets: dict[Itemset, Support], n_users: int, *, confidence: float = 0.5) -> list[Rule]:
    """Rules left -> right from frequent itemsets, with at least this confidence; best first.

    confidence = support of both / support of left; lift = confidence / the share of users who have right. Estimated
    supports can give a confidence above 1; it is shown as it comes out.
    """
    rules = []
    for whole, support in itemsets.items():
        for size in range(1, len(whole)):
            for left in combinations(whole, size):
                right = tuple(i for i in whole if i not in left)
                if left not in itemsets or right not in itemsets:  # estimates need not shrink with length
                    continue
                sure = support.value / itemsets[left].value
                if sure >= confidence:
                    rules.append(Rule(left, right, support, sure, sure * n_users / itemsets[right].value))
    return sorted(rules, key=lambda r: (-r.confidence, -r.support.value, r.left, r.right))


def required(minsup: float, n_users: int) -> float:
    """minsup as a number of users."""
    if not minsup > 0:
        raise RecveilError(f"minsup must be a share in (0, 1) or a number of users from 1 on, not {minsup:g}")
    return minsup * n_users if minsup < 1 else float(minsup)


def _keep(data: Columns, candidates: NDArray[np.int32], p: float, least: float) -> dict[Itemset, Support]:
    from recveil.kernels.popcount import ones_histograms

    values, errors = itemset_support(ones_histograms(data.bits, candidates, data.n_users), p)
    return {
        tuple(candidates[s].tolist()): Support(float(values[s]), float(errors[s]))
        for s in np.flatnonzero(values >= least)
    }


def _candidates(level: list[Itemset], most: int) -> Iterator[Itemset]:
    """Frequent itemsets that agree in all but their last item, joined two by two where all subsets are frequent."""
    known, groups = set(level), dict[Itemset, list[int]]()
    for itemset in level:
        groups.setdefault(itemset[:-1], []).append(itemset[-1])
    made = 0
    for start, lasts in groups.items():
        for a, b in combinations(sorted(lasts), 2):
            joined = (*start, a, b)
            if all((*joined[:i], *joined[i + 1 :]) in known for i in range(len(start))):
                made += 1
                if made > most:
                    raise RecveilError(f"more than {most:,} candidates of {len(joined)} items; raise minsup")
                yield joined
