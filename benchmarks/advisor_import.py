"""A platform's batch import, over HTTP, by recveil.advisor.client: CPU of the server and time for each click.

People come in the order in which they clicked (random), and for comparison sorted. With BEFORE clicks in the database
already, of as many people as their number allows (100 each), it says what the last of a large import cost.

    python benchmarks/advisor_import.py [CLICKS [BEFORE [sqlite|postgresql]]]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import polars as pl
from advisor import exact, processor
from advisor_million import memory

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from postgres import cluster

from recveil.advisor.client import AdvisorClient
from recveil.advisor.loading import load
from recveil.advisor.store import open_store
from recveil.clicks.profiles import clicks as signed
from recveil.data import from_ids

ITEMS, PEOPLE, EACH = 20_000, 100_000, 100
ADMIN = "an-admin-token-for-this-measurement"


def some(rng: np.random.Generator, n: int, people: int) -> tuple[np.ndarray, np.ndarray]:
    """People and items of n clicks at most, no pair twice; items as seldom as their rank is high."""
    pairs = rng.integers(0, people, n) * ITEMS + np.minimum(ITEMS ** rng.random(n), ITEMS - 1).astype(np.int64)
    pairs = pairs[np.sort(np.unique(pairs, return_index=True)[1])]
    return pairs // ITEMS, pairs % ITEMS


def main(n: int, before: int, kind: str) -> None:
    rng = np.random.default_rng(1)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        database = stack.enter_context(cluster()).database() if kind == "postgresql" else f"{folder}/import.sqlite"
        engine = open_store(database)
        who, what = some(rng, max(before, EACH), max(before // EACH, 1))
        load(engine, signed(from_ids(pl.Series(who), pl.Series(what))), {})
        engine.dispose()
        command = [sys.executable, "-m", "recveil", "advisor", "serve", "--database", database, "--port", "0", "--json"]
        command += ["--model-people", "1000000000"]  # a model of so many clicks is another matter
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={"RECVEIL_ADMIN_TOKEN": ADMIN}
        ) as process:
            try:
                assert process.stdout is not None
                url = json.loads(process.stdout.readline())["url"]
                print(f"{kind}, {before:,} clicks before")
                send(url, process.pid, n, rng)
            finally:
                process.terminate()
        exact(database)


def send(url: str, pid: int, n: int, rng: np.random.Generator) -> None:
    AdvisorClient(url, ADMIN).put_items((str(item), f"Item {item}") for item in range(ITEMS))
    asked = Request(f"{url}api/v1/platforms/owl", headers={"Authorization": f"Bearer {ADMIN}"}, method="PUT")
    owl = AdvisorClient(url, json.load(urlopen(asked))["key"])
    people = min(PEOPLE, max(n // 10, 1))
    owl.visits(f"user-{person}" for person in range(people))
    for order in ("as they come", "sorted by person"):
        who, what = some(rng, n // 2, people)
        rows = (
            sorted(zip(who.tolist(), what.tolist(), strict=True))
            if order != "as they come"
            else zip(who.tolist(), what.tolist(), strict=True)
        )
        begin, spent = time.perf_counter(), processor(pid)
        told = owl.opinions((f"user-{person}", str(item), "like") for person, item in rows)
        took, cpu = time.perf_counter() - begin, processor(pid) - spent
        assert not told.refused
        print(
            f"  {len(who):,} clicks {order}: {1e6 * cpu / len(who):.1f} us of CPU each, {cpu:.0f} s, "
            f"in {took:.0f} s; {memory(pid):.2f} GB"
        )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int((given or ["1000000"])[0]), int(([*given, "", "0"])[1] or 0), ([*given, "", "", ""])[2] or "sqlite")
