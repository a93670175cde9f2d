"""The advisor with a large catalogue: start, the last looks of a year, clicks meanwhile, what a page fetches.

People click at 50 a second while looks are taken; a click's latency counts from the moment it was due, and the same is
measured without looks. CPU is the server's own.

    python benchmarks/advisor_million.py [ITEMS [PEOPLE [CLICKS]]]
"""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import polars as pl
from advisor import Person, arrive, processor
from sqlalchemy import Engine, func, select, update

from recveil.advisor.applying import apply
from recveil.advisor.loading import load
from recveil.advisor.noisy_counters import CounterBudget, look, prepare
from recveil.advisor.schema import items, years
from recveil.advisor.store import DAY, YEAR, at_once, now, open_store, reading
from recveil.advisor.writes import Stock
from recveil.clicks.profiles import clicks as signed
from recveil.data import from_ids

RATE, SECONDS, LOOKS, SHOWN = 50, 8.0, 3, 18


def main(n_items: int, n_people: int, n_clicks: int) -> None:
    print(f"{n_items:,} items, {n_people:,} people, {n_clicks:,} clicks")
    with tempfile.TemporaryDirectory() as folder:
        database = f"{folder}/large.sqlite"
        fill(database, n_items, n_people, n_clicks)
        serve(database)


def fill(database: str, n_items: int, n_people: int, n_clicks: int) -> None:
    """A catalogue whose items are clicked as seldom as their rank is high, and a year with 361 looks behind it."""
    rng, engine = np.random.default_rng(1), open_store(database)
    what = np.minimum(n_items ** rng.random(n_clicks), n_items - 1).astype(np.int64)
    pairs = np.unique(rng.integers(0, n_people, n_clicks) * n_items + what)
    who, what = pairs // n_items, pairs % n_items
    data = from_ids(pl.Series(who), pl.Series(what), rating=rng.choice([1.0, 5.0], len(pairs), p=[0.2, 0.8]))
    load(engine, signed(data), {})
    for first in range(0, n_items, 50_000):
        some = range(first, min(first + 50_000, n_items))
        apply(engine, [Stock(tuple((str(n), f"The title of number {n}") for n in some))])
    budget = CounterBudget()
    assert look(engine, budget)
    begin = time.process_time()
    put(engine, done=budget.looks - LOOKS - 1)
    assert prepare(engine, budget, at_once(engine))  # its sums are kept
    print(f"  noise of {budget.looks - LOOKS} looks made anew: {time.process_time() - begin:.1f} CPU s")
    begin = time.process_time()
    assert look(engine, budget)
    print(f"  a look (sums are there): {time.process_time() - begin:.2f} CPU s")
    engine.dispose()


def put(engine: Engine, **values: int) -> None:
    """A look is due now."""
    with engine.begin() as db:
        newest = select(func.max(years.c.id)).scalar_subquery()
        due = {"looked": now() - 2 * DAY, "opened": now() - YEAR + 9 * DAY}
        db.execute(update(years).where(years.c.id == newest).values(due | values))


def serve(database: str) -> None:
    command = [sys.executable, "-m", "recveil", "advisor", "serve", "--database", database, "--port", "0", "--json"]
    command += ["--rate", "100000", "--accounts", "100000", "--publish-every", "1", "--trust-clock"]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            fetch(url + "api/v1/profiles")
            took, spent = time.perf_counter() - begin, processor(process.pid)
            print(f"  start: {took:.1f} s, {spent:.1f} CPU s, {memory(process.pid):.2f} GB")
            time.sleep(3)
            asyncio.run(watch(int(url.rsplit(":", 1)[1].strip("/")), process.pid, database))
            page(url)
            print(f"  memory at most {memory(process.pid):.2f} GB")
        finally:
            process.terminate()


def memory(pid: int) -> float:
    """The most so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024**2


async def watch(port: int, pid: int, database: str) -> None:
    """Clicks without a look and with one, in turns."""
    (person,) = await arrive(port, 1)
    rng, engine = np.random.default_rng(2), open_store(database)
    with reading(engine) as db:
        keys = list(db.execute(select(items.c.key).order_by(items.c.id.desc()).limit(100_000)).scalars())
    for turn in range(LOOKS):
        closing = turn == LOOKS - 1
        quiet = await clicked(person, keys, rng, pid)
        put(engine, **({"opened": now() - YEAR - DAY} if closing else {}))
        looking = await clicked(person, keys, rng, pid)
        name = "the one that closes the year" if closing else "one"
        print(f"  without a look {quiet[1]}, with {name} {looking[1]}; {looking[0] - quiet[0]:.2f} CPU s more")
    with reading(engine) as db:
        done, ended = db.execute(select(func.max(years.c.done), func.count(years.c.closed))).one()
        print(f"  looks of the year: {done}; years closed: {ended}")
    engine.dispose()


async def clicked(person: Person, keys: list[str], rng: np.random.Generator, pid: int) -> tuple[float, str]:
    """The server's CPU seconds, and latencies of clicks in words."""
    before, latencies, due = processor(pid), [], time.perf_counter()
    until = due + SECONDS
    while (due := due + rng.exponential(1 / RATE)) < until:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await person.click(keys.pop(), str(rng.integers(2**60)))
        latencies.append(1000 * (time.perf_counter() - due))
    p50, p99 = np.quantile(latencies, [0.5, 0.99])
    return processor(pid) - before, f"p50 {p50:.1f}, p99 {p99:.1f}, most {max(latencies):.1f} ms"


def fetch(url: str) -> tuple[int, bytes]:
    """How many bytes came, and what they say."""
    while True:
        try:
            with urlopen(Request(url, headers={"Accept-Encoding": "gzip"})) as answer:
                body = answer.read()
                return len(body), gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        except HTTPError as refused:  # so many from one network
            if refused.code != 429:
                raise
            time.sleep(1)


def page(url: str) -> None:
    """The bytes of profiles of a page that shows 18 items, often clicked ones and any."""
    size, body = fetch(url + "api/v1/profiles")
    bits = json.loads(body)["shards"]
    rng = np.random.default_rng(3)
    n_items = json.loads(fetch(url + "api/v1/items?limit=1")[1])["total"]
    sizes = []
    for _ in range(20):
        ranks = [int(n_items ** rng.random()) for _ in range(SHOWN // 2)] + rng.integers(
            0, n_items, SHOWN // 2
        ).tolist()
        names = {f"{zlib.crc32(str(n).encode()) >> (32 - bits):0{bits}b}" for n in ranks}
        sizes.append(size + sum(fetch(url + f"api/v1/profiles/{name}")[0] for name in names))
    told = f"{np.mean(sizes) / 1000:.1f} kB of profiles, at most {max(sizes) / 1000:.1f}; {2**bits} shards"
    print(f"  a page with {SHOWN} items: {told}")


if __name__ == "__main__":
    main(*(int(given) for given in sys.argv[1:4] or (1_000_000, 100_000, 3_000_000)))
