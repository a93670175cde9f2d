"""Keywords of public functions: what a request or another function spells is spelled nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

from recveil.errors import unknown
from recveil.options import part_of
from recveil.releases.catalogue import one_of

OTHER_NAMES = ("catalogue", "features")  # of items
Function = TypeVar("Function", bound=Callable[..., Any])


def keywords_of(*owners: Any, without: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """A function takes, and shows in place of **wishes, the fields of requests, or the keywords of a function.

    What it names itself comes first. `catalogue` and `features` are other names of `items`.
    """

    def dress(function: Function) -> Function:
        given = signature(function).parameters.values()
        taken = {p.name: p for p in given if p.name != "wishes"}
        for owner in owners:
            for one in _keywords(owner, without):
                taken.setdefault(one.name, one)
        return _taking(function, sorted(taken.values(), key=lambda p: p.kind))

    return dress


def _keywords(owner: Any, without: tuple[str, ...]) -> list[Parameter]:
    if isinstance(owner, type):
        kind = Parameter.KEYWORD_ONLY
        return [Parameter(f.name, kind, default=_default(f), annotation=f.type) for f in _fields(owner, without)]
    free = Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD
    every = (p if p.kind in free else p.replace(kind=free[0]) for p in signature(owner).parameters.values())
    return [p for p in every if p.name not in without]


def _fields(owner: Any, without: tuple[str, ...]) -> Iterator[Field[Any]]:
    """Those of a request, and in place of a part what is asked of that."""
    for one in fields(owner):
        spelling = one.metadata.get("option")
        parts = (found for found, _ in part_of(*spelling)) if isinstance(spelling, tuple) else (one,)
        if one.name not in without:
            yield from (found for found in parts if found.name not in without)


def _default(of: Field[Any]) -> Any:
    if of.default_factory is not MISSING:
        return of.default_factory()
    return Parameter.empty if of.default is MISSING else of.default


def _taking(function: Function, parameters: list[Parameter]) -> Function:
    names = [p.name for p in parameters]
    anything = parameters[-1].kind is Parameter.VAR_KEYWORD

    @wraps(function)
    def call(*args: Any, **wishes: Any) -> Any:
        if "items" in names and any(name in wishes for name in OTHER_NAMES):
            wishes["items"] = one_of(**{name: wishes.pop(name, None) for name in ("items", *OTHER_NAMES)})
        for name in wishes:
            if name not in names and not anything:
                raise unknown(f"keyword of {function.__name__}", name, names)
        return function(*args, **wishes)

    call.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
