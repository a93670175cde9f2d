"""What people are: a table of attributes, made into yes-or-no questions that an attacker may try to answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.errors import RecveilError, unknown
from recveil.evaluation.cache import digest
from recveil.measurement import FEWEST_LABELLED, Labels, Trial
from recveil.mechanism import Mechanism

MOST = 20  # values of one column that are asked about, the most frequent first
USER = "user"


def read_people(given: str | Path | pl.DataFrame) -> pl.DataFrame:
    """A table with a column `user` and any others; csv or parquet, or such a frame."""
    frame = given if isinstance(given, pl.DataFrame) else _read(given)
    name = "the table" if isinstance(given, pl.DataFrame) else Path(given).name
    if USER not in frame.columns or len(frame.columns) < 2:
        raise RecveilError(f"{name}: attributes have the column user and at least one other")
    if frame[USER].is_duplicated().any():
        raise RecveilError(f"{name}: a user stands in several lines; one line for each")
    return frame


def _read(path: str | Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path) if Path(path).suffix == ".parquet" else pl.read_csv(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RecveilError(f"{Path(path).name} cannot be read as attributes: {str(error).splitlines()[0]}") from None


def questions(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """Of each attribute whether a person has it; null where it is not known.

    Numbers are cut at their median; of other columns each value that enough people have stands against the rest.
    """
    found: dict[str, pl.Series] = {}
    for name in frame.columns:
        column = frame[name]
        if name == USER:
            continue
        if column.dtype.is_numeric() and column.n_unique() > 2:
            middle = float(np.median(column.drop_nulls().to_numpy()))
            found[f"{name} > {middle:g}"] = column > middle
            continue
        values = column.cast(pl.String)
        counts = values.drop_nulls().value_counts(sort=True).filter(pl.col("count") >= FEWEST_LABELLED)
        frequent = counts[values.name].to_list()[:MOST]
        if values.drop_nulls().n_unique() == 2:  # the two would ask the same
            frequent = frequent[-1:]
        found |= {f"{name} = {value}": values == value for value in frequent}
    return found


def informed(mechanism: Mechanism, people: str | Path | pl.DataFrame | None) -> Mechanism:
    """A mechanism that hides an attribute, told who has it; the table is of no use to any other."""
    if people is None:
        return mechanism  # one that must be told says so itself
    if not mechanism.hides_attribute:
        raise RecveilError(f"{mechanism.name} does not look at what people are; leave --attributes out")
    hiding: Any = mechanism
    return cast(Mechanism, hiding.informed(groups(read_people(people), hiding.attribute)))


def groups(frame: pl.DataFrame, column: str | None) -> dict[str, bool]:
    """Who is in which of two groups, by user id as text: numbers are cut at their median, else there are two values."""
    others = [name for name in frame.columns if name != USER]
    if column is None and len(others) > 1:
        raise RecveilError(f"which attribute is to be hidden? Say blur:attribute=NAME, of {', '.join(others)}")
    chosen = column or others[0]
    if chosen not in others:
        raise unknown("attribute", chosen, others)
    asked = questions(frame.select(USER, chosen))
    if len(asked) != 1:
        raise RecveilError(
            f"{chosen} does not make two groups of {FEWEST_LABELLED} people or more: give two values, or numbers"
        )
    (answer,) = asked.values()
    known = answer.is_not_null()
    users = frame[USER].cast(pl.String).filter(known).to_list()
    return dict(zip(users, answer.filter(known).to_list(), strict=True))


def labelled(subject: Trial, frame: pl.DataFrame) -> dict[str, Labels]:
    """The questions, answered for the people of a trial."""
    asked = questions(frame)
    if not asked:
        raise RecveilError(f"no attribute has a value that {FEWEST_LABELLED} people share")
    found: dict[str, Labels] = {}
    for name, answer in asked.items():
        table = pl.DataFrame({USER: frame[USER].cast(pl.String), "has": answer.cast(pl.Int8)})
        members = _codes(subject.train.users, table)
        others = None if subject.holdout is None else _codes(subject.holdout.users, table)
        found[name] = members, others
    if all(np.all(members < 0) for members, _ in found.values()):
        raise RecveilError("nobody in the attributes is in the data: the users must have the same ids")
    return found


def _codes(users: pl.Series, table: pl.DataFrame) -> NDArray[np.int8]:
    there = pl.DataFrame({USER: users.cast(pl.String)}).join(table, on=USER, how="left", maintain_order="left")
    return there["has"].fill_null(-1).to_numpy().astype(np.int8)


def print_of(people: pl.DataFrame | None) -> str:
    """What the cache knows a table of people by."""
    return "" if people is None else digest(people.write_csv().encode())


def read_map(path: str | Path) -> pl.DataFrame:
    """The private id map that `recveil release --keep-map` writes: a csv with the columns original and released."""
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RecveilError(f"{path} cannot be read as an id map: {str(error).splitlines()[0]}") from None
    if not {"original", "released"} <= set(frame.columns):
        raise RecveilError(f"{path}: an id map has the columns original and released, not {', '.join(frame.columns)}")
    return frame
