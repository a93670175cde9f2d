"""remembered: what was learned of data is kept while the data are there, by the comparison that holds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar
from weakref import ref

from recveil.data import Interactions

P = ParamSpec("P")
R = TypeVar("R")


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which does the same work once: for the same data objects and otherwise equal arguments.

    Data are held weakly. When one of them goes, so does all that was learned of it.
    """
    kept: dict[tuple[object, ...], R] = {}

    def forget(gone: ref[Interactions]) -> None:
        for key in [key for key in kept if any(part is gone for part in key)]:
            del kept[key]

    @wraps(function)
    def once(*args: P.args, **kwargs: P.kwargs) -> R:
        given = (*args, *sorted(kwargs.items()))
        key = tuple(ref(each, forget) if isinstance(each, Interactions) else each for each in given)
        if key not in kept:
            kept[key] = function(*args, **kwargs)
        return kept[key]

    return once
