"""Where the work of a request is done: by the cores of this machine, or by a Spark cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recveil.errors import unknown
from recveil.releases.places import Folder, Place

ENGINES = ("local", "spark")


@dataclass(frozen=True)
class Engine:
    """An engine by its name; `master` is that of Spark (spark://host:7077, yarn, local[4])."""

    name: str = "local"
    master: str | None = None

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise unknown("--engine", self.name, ENGINES)

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
