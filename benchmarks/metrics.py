"""Precision, recall, NDCG and MAP at 100 of 100,000 lists of 100: ours against ir-measures, one run, the same numbers.

ir-measures is handed its fastest input, the dictionaries that pytrec_eval scores; building them is not counted. Ours is
timed from the arrays that the recommenders return, with kernels compiled beforehand.
"""

from __future__ import annotations

from time import perf_counter

import ir_measures
import numpy as np
from ir_measures import AP, P, R, nDCG

from recveil.kernels.ranking import grade

PEOPLE, N, ITEMS, WANTED = 100_000, 100, 2_000, 20


def main() -> None:
    rng = np.random.default_rng(0)
    lists = np.argsort(rng.random((1000, ITEMS)), axis=1)[:, :N].astype(np.int32)[rng.integers(0, 1000, PEOPLE)]
    relevant = np.sort(
        np.argsort(rng.random((1000, ITEMS)), axis=1)[:, :WANTED].astype(np.int32)[rng.integers(0, 1000, PEOPLE)]
    )
    starts = np.arange(PEOPLE + 1) * WANTED
    grade(lists[:2], starts[:3], relevant[:2].ravel(), N)

    names = [f"i{i}" for i in range(ITEMS)]
    qrels = {str(p): {names[i]: 1 for i in relevant[p].tolist()} for p in range(PEOPLE)}
    run = {str(p): {names[i]: float(N - k) for k, i in enumerate(lists[p].tolist())} for p in range(PEOPLE)}
    measures = [P @ N, R @ N, nDCG @ N, AP @ N]

    ours = []
    for _ in range(5):
        begin = perf_counter()
        grades = grade(lists, starts, relevant.ravel(), N)
        ours.append(perf_counter() - begin)
    begin = perf_counter()
    theirs = ir_measures.calc_aggregate(measures, qrels, run)
    other = perf_counter() - begin

    for k, measure in enumerate(measures):
        assert abs(grades[:, k].mean() - theirs[measure]) < 1e-6, measure
    middle = float(np.median(ours))
    print(
        f"{PEOPLE:,} people, lists of {N}: ours {middle:.3f} s, ir-measures {other:.1f} s, ratio {other / middle:.0f}"
    )


if __name__ == "__main__":
    main()
