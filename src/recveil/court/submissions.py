"""A submission is data: item-to-item weights, item vectors, a ranked list, or a network as ONNX (network.py). Never
code.

Whatever is refused is refused for what stands in the file, against the public catalogue: no person takes part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.court.people import Histories
from recveil.data import Codes
from recveil.errors import RecveilError
from recveil.ids import places

MOST_BYTES = 4 << 30  # of a file, packed and unpacked
MOST_ROWS = 100_000_000
MOST_NUMBERS = 300_000_000  # in vectors
DEEPEST = 1024
PICKLES = (b"\x80", b"PK\x03\x04", b"\x93NUMPY", b"\x89HDF")  # pickles, archives of them (torch, joblib), arrays
FORMS = "item, other, weight; or item, vector and perhaps bias; or item and perhaps place"


class Lister(Protocol):
    """What a file holds, ready to make lists."""

    def lists(self, people: Histories, n: int) -> Codes:
        """Per person the n best unseen items as codes of the catalogue, -1 where there are fewer, or it fails."""


@dataclass(frozen=True)
class Submission:
    """A checked file: `ignored` rows were about items outside the catalogue."""

    sha256: str
    kind: str
    rows: int
    ignored: int
    model: Lister = field(repr=False)

    def lists(self, people: Histories, n: int) -> Codes:
        return self.model.lists(people, n)


@dataclass(frozen=True, eq=False)
class Weights:
    """Every item of a history votes for others with these weights."""

    rows: NDArray[np.int64]
    others: Codes
    weights: NDArray[np.float32]

    def lists(self, people: Histories, n: int) -> Codes:
        from recveil.kernels.judging import by_weights

        width = len(self.rows) - 1
        made: Codes = by_weights(people.starts, people.history, self.rows, self.others, self.weights, width, n)
        return made


@dataclass(frozen=True, eq=False)
class Vectors:
    """A person is the mean of the vectors of her items; an item's score is its bias and the product with her."""

    vectors: NDArray[np.float32]  # a column for each item of the catalogue
    bias: NDArray[np.float32]
    known: NDArray[np.bool_]

    def lists(self, people: Histories, n: int) -> Codes:
        from recveil.kernels.judging import by_vectors

        made: Codes = by_vectors(people.starts, people.history, self.vectors, self.bias, self.known, n)
        return made


def read_submission(path: str | Path, items: pl.Series, each: float) -> Submission:
    """A submission from its file, checked; `each`: seconds that a network may take for one person."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            size, head = path.stat().st_size, file.read(8)
    except OSError as error:
        raise RecveilError(f"{path} cannot be read: {error.strerror or error}") from None
    if size > MOST_BYTES:
        raise RecveilError(f"{path} is larger than {MOST_BYTES >> 30} GiB, the most that a submission may be")
    if not size:
        raise RecveilError(f"{path} is empty")
    if head.startswith(b"PAR1"):
        return _tabular(path, items)
    if path.suffix == ".onnx" and not head.startswith(PICKLES):
        from recveil.court.network import read_network

        return Submission(_hash(path), "network", 1, 0, read_network(path, len(items), each))
    if head.startswith(PICKLES):
        raise RecveilError(f"{path}: a submission is data, and pickles, archives and arrays are refused: give parquet")
    raise RecveilError(f"{path} is neither parquet nor .onnx; a submission has the columns {FORMS}")


def _tabular(path: Path, items: pl.Series) -> Submission:
    names, size = _measured(path)
    for kind, (wanted, perhaps, make) in KINDS.items():
        if wanted <= names <= wanted | perhaps:
            rows, ignored, model = make(path, items)
            if rows == ignored:
                raise RecveilError(f"{path}: none of its items stands in the catalogue: it belongs to other data")
            return Submission(_hash(path), kind, rows, ignored, model)
    found = ", ".join(sorted(names)[:8]) if size else "no rows"
    raise RecveilError(f"{path} has the columns {found}; a submission has {FORMS}")


def _measured(path: Path) -> tuple[set[str], int]:
    """The columns of a parquet file and its rows, by its footer alone: what is too large is never unpacked."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    try:
        footer = pq.ParquetFile(path).metadata
        groups = [footer.row_group(k) for k in range(footer.num_row_groups)]
        numbers = max((sum(g.column(c).num_values for g in groups) for c in range(footer.num_columns)), default=0)
        unpacked = sum(g.column(c).total_uncompressed_size for g in groups for c in range(footer.num_columns))
        names = set(footer.schema.to_arrow_schema().names)
    except (ArrowException, OSError, ValueError):
        raise RecveilError(f"{path} cannot be read as parquet") from None
    if not footer.num_rows:
        raise RecveilError(f"{path} has no rows")
    if footer.num_rows > MOST_ROWS or numbers > MOST_NUMBERS or unpacked > MOST_BYTES:
        raise RecveilError(
            f"{path} says that it unpacks to {footer.num_rows:,} rows and {unpacked:,} bytes; a submission has at most "
            f"{MOST_ROWS:,} rows, {MOST_NUMBERS:,} numbers and {MOST_BYTES >> 30} GiB"
        )
    return names, footer.num_rows


def _weights(path: Path, items: pl.Series, name: str = "weight") -> tuple[int, int, Lister]:
    table = _table(path, ["item", "other", name], ("item", "other"))
    item, other = _codes(path, table["item"], items), _codes(path, table["other"], items)
    weight = _numbers(path, table[name], name)
    known = (item >= 0) & (other >= 0)
    order = np.flatnonzero(known)
    pair = item[order].astype(np.int64) * len(items) + other[order]
    order = order[np.argsort(pair, kind="stable")]
    pair = item[order].astype(np.int64) * len(items) + other[order]
    _once(path, pair, "a pair of item and other")
    rows = np.concatenate([[0], np.cumsum(np.bincount(item[order], minlength=len(items)))]).astype(np.int64)
    model = Weights(rows, other[order].astype(np.int32), np.ascontiguousarray(weight[order]))
    return len(item), int(len(item) - known.sum()), model


def _vectors(path: Path, items: pl.Series) -> tuple[int, int, Lister]:
    table = _table(path, None, ("item",))
    item = _codes(path, table["item"], items)
    flat, lengths = _nested(path, table["vector"])
    depth = int(lengths[0])
    if not 1 <= depth <= DEEPEST or np.any(lengths != depth):
        raise RecveilError(f"{path}: vectors must all have the same length, from 1 to {DEEPEST}")
    numbers = _numbers(path, flat, "vector").reshape(-1, depth)
    bias = _numbers(path, table["bias"], "bias") if "bias" in table.column_names else np.zeros(len(item), np.float32)
    return _placed(path, item, numbers, bias, items)


def _list(path: Path, items: pl.Series) -> tuple[int, int, Lister]:
    table = _table(path, None, ("item",))
    item = _codes(path, table["item"], items)
    place = np.arange(len(item), dtype=np.float32)
    if "place" in table.column_names:
        place = _numbers(path, table["place"], "place")
    order = np.argsort(np.argsort(place, kind="stable"), kind="stable")
    return _placed(path, item, np.zeros((len(item), 1), np.float32), -order.astype(np.float32), items)


def _placed(path: Path, item: Codes, numbers: Any, bias: Any, items: pl.Series) -> tuple[int, int, Lister]:
    known = item >= 0
    _once(path, np.sort(item[known]), "an item")
    vectors = np.zeros((numbers.shape[1], len(items)), dtype=np.float32)
    vectors[:, item[known]] = numbers[known].T
    biases, there = np.zeros(len(items), dtype=np.float32), np.zeros(len(items), dtype=np.bool_)
    biases[item[known]], there[item[known]] = bias[known], True
    return len(item), int(len(item) - known.sum()), Vectors(vectors, biases, there)


Made = Callable[[Path, pl.Series], tuple[int, int, Lister]]
KINDS: dict[str, tuple[set[str], set[str], Made]] = {
    "weights": ({"item", "other", "weight"}, set(), _weights),
    "pairs": ({"item", "other", "likeness"}, set(), partial(_weights, name="likeness")),  # a table of our bundles
    "vectors": ({"item", "vector"}, {"bias"}, _vectors),
    "list": ({"item"}, {"place"}, _list),
}


def _table(path: Path, columns: list[str] | None, ids: tuple[str, ...]) -> Any:
    """The columns of a file, text as numbers into a dictionary: a long text that stands often is held once."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException, types

    try:
        kinds = pq.read_schema(path)
        text = [name for name in ids if types.is_string(kinds.field(name).type) or types.is_large_string(
            kinds.field(name).type)]  # fmt: skip
        return pq.read_table(path, columns=columns, read_dictionary=text, use_pandas_metadata=False)
    except (ArrowException, OSError, ValueError, MemoryError):
        raise RecveilError(f"{path} cannot be read as parquet") from None


def _codes(path: Path, column: Any, items: pl.Series) -> Codes:
    """Ids as numbers of the catalogue, -1 outside of it."""
    if column.null_count:
        raise RecveilError(f"{path}: an id is missing")
    ids = column.combine_chunks()
    from pyarrow import DictionaryArray, types

    if not (types.is_integer(ids.type) or isinstance(ids, DictionaryArray) or types.is_string(ids.type)):
        raise RecveilError(f"{path}: ids are integers or text, not {ids.type}")
    if isinstance(ids, DictionaryArray):
        codes: Codes = places(pl.Series(ids.dictionary), items)[ids.indices.to_numpy(zero_copy_only=False)]
        return codes
    return places(pl.Series(ids), items)


def _numbers(path: Path, column: Any, name: str) -> NDArray[np.float32]:
    from pyarrow import types

    if not (types.is_floating(column.type) or types.is_integer(column.type)):
        raise RecveilError(f"{path}: {name} must hold numbers, not {column.type}")
    found = np.asarray(column.to_numpy(zero_copy_only=False) if hasattr(column, "indices") else column.to_numpy())
    with np.errstate(over="ignore"):
        narrow = found.astype(np.float32)
    if column.null_count or not np.all(np.isfinite(narrow)):
        raise RecveilError(f"{path}: {name} holds a number that is missing, not finite, or too large for 32 bits")
    return np.ascontiguousarray(narrow)


def _nested(path: Path, column: Any) -> tuple[Any, NDArray[np.int64]]:
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)) or column.null_count:
        raise RecveilError(f"{path}: vector must be a list of numbers in every row, not {kind}")
    lengths = pc.list_value_length(column).to_numpy().astype(np.int64)
    return pc.list_flatten(column), lengths


def _once(path: Path, ordered: NDArray[Any], what: str) -> None:
    if np.any(ordered[1:] == ordered[:-1]):
        raise RecveilError(f"{path}: {what} stands there twice; every one may stand once")


def _hash(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
