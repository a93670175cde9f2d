"""A server that runs: one process, or several workers that take turns at one socket and share one PostgreSQL."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import secrets
import signal
import socket
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

import uvicorn
from sqlalchemy import Engine

from recveil.advisor.app import create_app
from recveil.advisor.connections import bounded, room
from recveil.advisor.logs import to_standard_error
from recveil.advisor.noisy_counters import blur
from recveil.advisor.service import Advisor, Settings, open_advisor
from recveil.advisor.sharing import Sharing
from recveil.advisor.store import connect, reading
from recveil.errors import RecveilError

log = logging.getLogger("recveil.advisor")

QUICK = 10.0  # seconds; a worker that ends sooner did not really start
ATTEMPTS = 5  # of workers that end so soon, one after the other
GRACE = 10.0  # seconds that workers have to end what they are doing


@dataclass(frozen=True)
class Serving:
    """What every worker needs to know."""

    database: str
    settings: Settings
    trusted: str = ""  # networks of proxies
    json_log: bool = False


def check_workers(n: int, engine: Engine) -> None:
    if n > 1 and engine.dialect.name != "postgresql":
        raise RecveilError("--workers: SQLite has one writer; several workers need --database postgresql://...")


def server_of(advisor: Advisor, serving: Serving) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(advisor),
        log_config=None,
        access_log=False,  # it would name items; ours does not
        http=bounded(serving.trusted, room()),
        ws="none",
        proxy_headers=bool(serving.trusted),
        forwarded_allow_ips=serving.trusted or None,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    to_standard_error(serving.json_log)
    tell_overspent(advisor)
    _settle()
    advisor.when_learned = _settle  # learning loads as much again
    return uvicorn.Server(config)


def tell_overspent(advisor: Advisor) -> None:
    """What the page says too: an earlier recveil showed counters whose noise could be undone."""
    with reading(advisor.engine) as db:
        known = blur(db)
    if known is not None and known.overspent is not None:
        log.warning(
            "public counters shown until %s gave away more than their budget where the catalogue grew meanwhile; "
            "that year is closed, and what is promised holds for later clicks (docs/guarantees/advisor.md)",
            known.overspent,
        )


def _settle() -> None:
    """What was loaded so far stays: looking through it again and again would hold everyone up for 0.1 s each time."""
    gc.collect()
    gc.freeze()


def _work(serving: Serving, listening: socket.socket, salt: bytes, number: int) -> None:
    """One of several workers; it does not outlive the process that started it."""
    engine = connect(serving.database)
    try:
        server = server_of(open_advisor(engine, serving.settings, salt, number), serving)
        parent = multiprocessing.parent_process()

        def orphaned() -> None:
            if parent is not None:
                parent.join()
            server.should_exit = True

        threading.Thread(target=orphaned, daemon=True).start()
        server.run(sockets=[listening])
    finally:
        engine.dispose()


def serve_many(serving: Serving, listening: socket.socket, n: int) -> None:
    """Run workers until we are told to stop; one that ends is followed by another."""
    to_standard_error(serving.json_log)
    engine, salt, stopping = connect(serving.database), secrets.token_bytes(32), threading.Event()
    Sharing(engine, salt).clear()
    engine.dispose()
    fresh = multiprocessing.get_context("spawn")  # a fork would share threads' locks and open connections

    def begin(number: int) -> BaseProcess:
        worker = fresh.Process(target=_work, args=(serving, listening, salt, number), name=f"worker {number}")
        worker.start()
        return worker

    def stop(*_: Any) -> None:
        stopping.set()
        for worker, _began in workers.values():
            worker.terminate()

    workers = {number: (begin(number), time.monotonic()) for number in range(1, n + 1)}
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    failed = 0
    try:
        while not stopping.is_set():
            wait([worker.sentinel for worker, _ in workers.values()], timeout=1.0)
            for number, (worker, began) in list(workers.items()):
                if worker.is_alive() or stopping.is_set():
                    continue
                failed = failed + 1 if time.monotonic() - began < QUICK else 0
                if failed >= ATTEMPTS:
                    raise RecveilError("workers end as soon as they start; the lines above say why")
                log.warning("worker %d ended (%s); another begins", number, worker.exitcode)
                workers[number] = (begin(number), time.monotonic())
    finally:
        stop()
        for worker, _ in workers.values():
            worker.join(GRACE)
            if worker.is_alive():
                worker.kill()
        for number, handler in before.items():
            signal.signal(number, handler)
