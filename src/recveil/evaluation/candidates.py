"""The candidates of a comparison: mechanisms by name or as objects, and releases that were made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.people import informed
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Mechanism
from recveil.mechanisms.spec import as_mechanism, is_named, text
from recveil.releases.bundle import MANIFEST, load
from recveil.releases.inputs import SAMPLE, Input
from recveil.releases.release import Release

ELSEWHERE = "Made elsewhere: recveil knows what it holds, not how it came about, and promises nothing for it."


@dataclass(frozen=True, eq=False)
class ExternalRelease:
    """A release that exists already. It may hold everybody, so nobody is a stranger to it."""

    name: str
    data: Interactions
    guarantee: Guarantee
    done: str


def candidates(
    data: Interactions, given: Sequence[Any], people: pl.DataFrame | None = None
) -> list[Mechanism | ExternalRelease]:
    """What is to be compared, each once; every mechanism fits the data, or the first that does not is named.

    people: what they are, for a mechanism that hides it.
    """
    if isinstance(given, str | Mechanism | PathLike):
        given = [given]
    if not given:
        raise RecveilError("nothing to compare; name at least one mechanism with --with")
    found = [
        informed(one, people) if isinstance(one, Mechanism) and one.hides_attribute else one
        for one in map(_candidate, given)
    ]
    chosen = {spec_of(one): one for one in found}
    for one in chosen.values():
        if isinstance(one, Mechanism):
            one.check_fit(data)
    return list(chosen.values())


def spec_of(one: Mechanism | ExternalRelease) -> str:
    """What it is called in a report."""
    return one.name if isinstance(one, ExternalRelease) else text(one)


def _candidate(given: Any) -> Mechanism | ExternalRelease:
    if isinstance(given, ExternalRelease):
        return given
    if isinstance(given, Release):
        return ExternalRelease(
            f"{text(given.mechanism)} (given)", given.data, given.guarantee, first_paragraph(given.mechanism.card())
        )
    if isinstance(given, Interactions):
        return ExternalRelease("rows (given)", given, nothing(ELSEWHERE), ELSEWHERE)
    if isinstance(given, PathLike) or (isinstance(given, str) and not is_named(given) and _is_file(given)):
        return _file(fspath(given))
    return as_mechanism(given)


def _file(path: str) -> ExternalRelease:
    """A bundle, or a table that another tool wrote."""
    if (Path(path) / MANIFEST).is_file():
        bundle = load(path)
        return ExternalRelease(
            f"{Path(path).name} ({bundle.manifest['spec']})", bundle.data, bundle.guarantee, ELSEWHERE
        )
    return ExternalRelease(Path(path).name, Input(path, duplicates="all").all_rows(), nothing(ELSEWHERE), ELSEWHERE)


def _is_file(given: str) -> bool:
    return given.startswith(SAMPLE) or Path(given).exists()


def first_paragraph(card: str) -> str:
    """The first paragraph of a card: what was done."""
    return " ".join(card.split("\n\n")[0].split())
