"""Places that a cluster writes: whatever its Hadoop file systems know (hdfs:, s3a:, abfss:, ..., and file:).

Files are written and hashed by the executors. What lands on the driver: names, hashes and sizes of the files, and the
text of card and manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from recveil.errors import RecveilError
from recveil.releases.places import Folder, Place
from recveil.spark.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class Lake:
    """A place that the cluster's file systems know by its URI."""

    spark: Any
    uri: str

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> Lake:
        return Lake(self.spark, f"{self.uri}/{name}")

    def beside(self, ending: str) -> Lake:
        above, _, name = self.uri.rpartition("/")
        return Lake(self.spark, f"{above}/.{name}.{ending}")

    def exists(self) -> bool:
        with _faults():
            return bool(self._files.exists(self._path))

    def make(self) -> None:
        with _faults():
            self._done(self._files.mkdirs(self._path), "made")

    def read(self) -> str:
        if not self.exists():
            raise FileNotFoundError(self.uri)
        with _faults():
            stream = self._files.open(self._path)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

    def write(self, text: str) -> None:
        with _faults():
            stream = self._files.create(self._path, False)
            try:
                stream.write(text.encode())
            finally:
                stream.close()

    def move(self, to: Lake) -> None:
        with _faults():
            self._done(not to.exists() and self._files.rename(self._path, to._path), f"moved to {to}")

    def delete(self) -> None:
        with _faults():
            self._files.delete(self._path, True)

    def close_to_others(self) -> None:
        with _faults():
            permission = self.spark.sparkContext._jvm.org.apache.hadoop.fs.permission.FsPermission
            self._files.setPermission(self._path, permission("700"))

    def settle(self) -> None:
        """Closed files are."""

    def names(self) -> list[str]:
        with _faults():
            root, found = self._name, []
            listed = self._files.listFiles(self._path, True)
            while listed.hasNext():
                found.append(listed.next().getPath().toString().removeprefix(f"{root}/"))
        return sorted(found)

    def entries(self) -> list[dict[str, Any]]:
        from pyspark.sql import functions as fn

        root, names = self._name, self.names()
        if not names:
            return []
        content = self.spark.read.format("binaryFile").load([literal(f"{root}/{name}") for name in names])
        rows = content.select("path", fn.sha2("content", 256).alias("sha256"), "length").collect()
        found = {row["path"].removeprefix(f"{root}/"): (row["sha256"], row["length"]) for row in rows}
        unread = ("", 0)  # Spark passes over hidden files
        return [dict(zip(("name", "sha256", "bytes"), (n, *found.get(n, unread)), strict=True)) for n in names]

    def fetch(self, folder: Path) -> None:
        with _faults():
            for name in self.names():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                copy = Lake(self.spark, f"file://{folder / name}")
                self._files.copyToLocalFile(False, (self / name)._path, copy._path, True)

    @contextmanager
    def here(self) -> Iterator[Path]:
        with TemporaryDirectory() as folder:
            yield Path(folder)
            with _faults():
                for file in filter(Path.is_file, Path(folder).rglob("*")):
                    there = self / file.relative_to(folder).as_posix()
                    self._files.copyFromLocalFile(False, False, Lake(self.spark, f"file://{file}")._path, there._path)

    @property
    def _path(self) -> Any:
        return self.spark.sparkContext._jvm.org.apache.hadoop.fs.Path(self.uri)

    @property
    def _name(self) -> str:
        """As the file system itself spells it."""
        return str(self._files.makeQualified(self._path).toString())

    @property
    def _files(self) -> Any:
        context = self.spark.sparkContext
        files = self._path.getFileSystem(conf := context._jsc.hadoopConfiguration())
        if files.getUri().getScheme() == "file":  # without the .crc that Hadoop would leave beside every file
            return context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(conf).getRawFileSystem()
        return files

    def _done(self, done: bool, what: str) -> None:
        if not done:
            raise OSError(f"{self} cannot be {what}")


def place(spark: Any, name: str | Path) -> Place:
    """Where a name is: in the lake, or on this machine."""
    if is_connect(spark) and is_uri(name):
        there = re.fullmatch(r"file:(?://)?(/.*)", str(name))
        if not there:
            raise RecveilError(
                f"{name}: over Spark Connect bundles lie at a path that this machine and the executors see; "
                "at another URI with --master spark://host:port"
            )
        return Folder(Path(there[1]))
    return Lake(spark, str(name).rstrip("/")) if is_uri(name) else Folder(Path(name))


def is_uri(name: str | Path) -> bool:
    """Whether it is a name such as hdfs://host/out, not a path of this machine."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(name)) is not None


def literal(uri: str) -> str:
    """A name for Spark's readers, which would take brackets, braces and stars in it for a pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", uri)


def check_local_place(name: str) -> None:
    """Raise where the local engine is to find a bundle that only a cluster can."""
    if is_uri(name):
        raise RecveilError(f"{name} is a place that a cluster reads and writes: --engine spark")


def write_parts(frame: DataFrame, folder: Place, form: str = "parquet") -> int:
    """The rows as files part-00000 and so on, without Spark's own leavings; how many rows there are."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn

    raw, seen = folder / "spark", Observation()
    frame.observe(seen, fn.count("*").alias("rows")).write.format(form).option("header", True).save(raw.uri)
    names = [name for name in raw.names() if name.startswith("part-")]
    for number, name in enumerate(names):
        (raw / name).move(folder / f"part-{number:05d}.{'txt' if form == 'text' else form}")
    if raw.exists():  # where a client shares a disk with the executors
        raw.delete()
    read = frame.sparkSession.read.format(form).option("header", True)
    rows: int = seen.get["rows"]
    if not names or read.load(literal(folder.uri)).count() != rows:
        raise RecveilError("rows must be written to a place that the driver and all executors see")
    return rows


@contextmanager
def _faults() -> Iterator[None]:
    """What the JVM says, as the OSError of any other disk."""
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        yield
    except Py4JJavaError as fault:
        raise OSError(fault.java_exception.toString().splitlines()[0][:300]) from None
    except Py4JError as fault:
        raise OSError(str(fault).splitlines()[0][:300]) from None
