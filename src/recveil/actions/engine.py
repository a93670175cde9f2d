"""Where the work of a request is done: by the cores of this machine, or by a Spark cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError, unknown
from recveil.options import asked
from recveil.releases.asked import ENGINE, MASTER, MEMORY, SCRATCH
from recveil.releases.places import Folder, Place

ENGINES = ("local", "spark")


@dataclass(frozen=True)
class Engine:
    """An engine by its name; `master` is that of Spark (spark://host:7077, sc://host:15002, yarn, local[4]).

    `memory` (4GB) is how much this machine may take: a log that needs more is released out of core, by way of a
    `scratch` folder, which has to be one on a disk; without it, beside what is written.
    """

    name: str = asked(ENGINE, "local")
    master: str | None = asked(MASTER, None)
    memory: str | None = asked(MEMORY, None)
    scratch: str | None = asked(SCRATCH, None)

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise unknown("--engine", self.name, ENGINES)
        if self.on_spark and (self.memory or self.scratch):
            raise RecveilError("--memory and --scratch are for --engine local; Spark has its own")
        if self.scratch and not self.memory:
            raise RecveilError("--scratch is where a log goes that --memory cannot hold; name it too: --memory 4GB")
        _ = self.memory_bytes

    @property
    def memory_bytes(self) -> int | None:
        """The memory that may be taken; None where nobody said."""
        if self.memory is None:
            return None
        found = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?) ?([KMGT])B?", self.memory.strip().upper())
        if not found:
            raise RecveilError(f"--memory is a size such as 4GB or 800MB, not {self.memory!r}")
        return int(float(found[1]) * 1000 ** (1 + "KMGT".index(found[2])))

    @property
    def on_spark(self) -> bool:
        return self.name == "spark"

    def session(self) -> AbstractContextManager[Any]:
        """A Spark session, stopped in the end."""
        from recveil.spark.session import session

        return session(self.master)

    @contextmanager
    def place(self, name: str) -> Iterator[Place]:
        """A place by its name, for as long as the engine is there."""
        if not self.on_spark:
            self.check_reach(name)
            yield Folder(Path(name))
            return
        from recveil.spark.lake import place

        with self.session() as spark:
            yield place(spark, name)

    def check_reach(self, place: str) -> None:
        """Raise where this machine is to read or write a place that only a cluster reaches."""
        if not self.on_spark:
            from recveil.spark.lake import check_local_place

            check_local_place(place)


LOCAL = Engine()
