"""How much one look at many items can hold up others: CPU of its longest transaction, and of the public table after it.

A fifth of the items have enough clicks to show. Gaps are the longest for which a thread beside could not run, while the
table is made and while a plain loop runs: the difference is what the table adds on this machine.

    python benchmarks/advisor_look.py [ITEMS]
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sqlalchemy as sa

from recveil.advisor.noisy_counters import CounterBudget, look
from recveil.advisor.publication import blurred
from recveil.advisor.schema import items, years
from recveil.advisor.store import DAY, checkpoint, open_store

TURNS = 5


def main(n: int) -> None:
    rng = np.random.default_rng(1)
    likes = np.minimum(50_000, 2 * rng.pareto(0.7, n)).astype(int).tolist()
    with tempfile.TemporaryDirectory() as folder:
        engine = open_store(f"{folder}/look.sqlite")
        rows = [
            {"key": str(k), "title": f"The title of number {k}", "likes": a, "entered_likes": a}
            for k, a in enumerate(likes)
        ]
        with engine.begin() as db:
            db.execute(sa.insert(items), rows)
        held: list[float] = []

        def carry_out(act: Callable[[sa.Connection], Any]) -> Any:
            begin = time.thread_time()
            with engine.begin() as db:
                result = act(db)
            held.append(time.thread_time() - begin)
            return result

        assert look(engine, CounterBudget())
        known = blurred(engine, 5)
        _ = known.table
        for _ in range(TURNS):
            checkpoint(engine)
            with engine.begin() as db:
                db.execute(sa.update(years).values(looked=years.c.looked - 2 * DAY))
            held.clear()
            begin = time.process_time()
            assert look(engine, CounterBudget(), carry_out)
            took = time.process_time() - begin
            print(f"a look: {took:.2f} CPU s; {len(held)} transactions, {1000 * max(held):.1f} ms at most")
            begin = time.process_time()
            gap = longest_gap(lambda: blurred(engine, 5, None, known).table)
            table = time.process_time() - begin
            loop = longest_gap(lambda: sum(k for k in range(3_000_000)))
            print(f"  the table: {table:.2f} CPU s, gaps up to {1000 * gap:.0f} ms (a plain loop: {1000 * loop:.0f})")
        sizes = [len(shard.packed) for name in known.catalogue.shards if (shard := known.shard(name))]
        print(f"{len(known.shown):,} of {n:,} items show; every page fetches {len(known.table.packed) / 1000:.1f} kB")
        print(f"and a shard for each item shown: {np.mean(sizes) / 1000:.2f} kB, at most {max(sizes) / 1000:.2f}")
        engine.dispose()


def longest_gap(work: Callable[[], Any]) -> float:
    gaps, done = [0.0], threading.Event()

    def beside() -> None:
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.0005)
            gaps.append(time.perf_counter() - last)
            last = time.perf_counter()

    other = threading.Thread(target=beside)
    other.start()
    work()
    done.set()
    other.join()
    return max(gaps)


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["1000000"])[0]))
