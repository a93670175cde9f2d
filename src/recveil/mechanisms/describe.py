"""A mechanism described from its class: what it is for, needs, takes and promises."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Kind
from recveil.mechanism import Masking, Mechanism, PublicInfo, Within
from recveil.mechanisms.spec import parse

ITEMS = 1000  # of the catalogue on which a promise is spelled out


def describe(mechanism: type[Mechanism]) -> dict[str, Any]:
    """As plain data; the promise is that of `example`, on a public catalogue of a thousand items."""
    example = mechanism.name + (f":{mechanism.example_parameters}" if mechanism.example_parameters else "")
    promise = parse(example).guarantee(_public(mechanism))
    return {
        "name": mechanism.name,
        "does": " ".join((mechanism.__doc__ or "").split()),
        "for": mechanism.purpose,
        "best_for": mechanism.best_for,
        "shape": "masking" if issubclass(mechanism, Masking) else "synthesis",
        "needs": list(mechanism.needs),
        "kinds": list(mechanism.kinds),
        "spark": mechanism.local_only or "yes",
        "recommend": mechanism.learned_from or "no",
        "example": example,
        "parameters": [_parameter(f) for f in fields(mechanism)],
        "promise": {name: promise.record()[name] for name in ("status", "unit", "sentence", "proof")},
    }


def _parameter(f: Field[Any]) -> dict[str, Any]:
    rule = f.metadata.get("rule")
    return {
        "name": f.name,
        "about": f.metadata.get("about", ""),
        "required": f.default is MISSING,
        "default": None if f.default is MISSING else f.default,
        "rule": None if rule is None else str(rule) if isinstance(rule, Within) else f"one of {', '.join(rule)}",
    }


def _public(mechanism: type[Mechanism]) -> PublicInfo:
    kind: Kind = "tags" if "tag" in mechanism.needs else "ratings" if "rating" in mechanism.needs else "clicks"
    tags = pl.Series(["a", "b"]) if kind == "tags" else None
    return PublicInfo(kind, "user", pl.Series(np.arange(ITEMS)), tags, True, ("tags", "users"), pl.Series([0]))
