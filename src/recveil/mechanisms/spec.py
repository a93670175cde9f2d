"""The only parser of mechanism names: "shuffle-nnn:theta=0.4,k=40" <-> object."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, replace
from math import floor, log10
from types import UnionType
from typing import Any, get_args, get_type_hints

from recveil.errors import RecveilError, unknown
from recveil.mechanism import Mechanism
from recveil.mechanisms import known_mechanisms

_OUTSIDE_BRACKETS = re.compile(r",(?![^(]*\))")


def parse(spec: str, otherwise: Mechanism | None = None) -> Mechanism:
    """A mechanism from its name and parameters, such as "random-ratings:values=uniform".

    Parameters that are not given are those of `otherwise`, where it is the same mechanism, else their defaults.
    """
    name, parts = _named(spec)
    mechanism = known_mechanisms()[name]
    known = {f.name: f for f in fields(mechanism)}
    hints = get_type_hints(mechanism)
    given: dict[str, Any] = {}
    for part in parts:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise RecveilError(f"{name}: write parameters as name=value, not {part!r}")
        if key not in known:
            if not known:
                raise RecveilError(f"{name} takes no parameters, and {key} was given")
            raise unknown(f"parameter of {name}", key, known)
        if key in given:
            raise RecveilError(f"{name}: parameter {key} is given twice")
        given[key] = _value(name, key, value, hints[key])
    if type(otherwise) is mechanism:
        given = {k: getattr(otherwise, k) for k in known} | given
    missing = [k for k, f in known.items() if f.default is MISSING and k not in given]
    if missing:
        wanted = " and ".join(f"{k} ({known[k].metadata['about']})" for k in missing)
        hint = "; it has a default where people are declared: --size people=N,..., in Python people=N"
        hint *= missing == ["delta"]
        raise RecveilError(f"{name} needs the parameter{'s' * (len(missing) > 1)} {wanted}{hint}")
    return mechanism(**given)


def _named(spec: str) -> tuple[str, list[str]]:
    """The name of a known mechanism, and its parameters as they are written."""
    name, _, text = spec.strip().partition(":")
    parts = [part.strip() for part in _OUTSIDE_BRACKETS.split(text) if part]
    modes = {m.also: m.name for m in known_mechanisms().values() if m.also}  # mechanisms of their own
    for mode in [part for part in parts if (name, part) in modes]:
        parts.remove(mode)
        name = modes[name, mode]
    if name not in known_mechanisms():
        raise unknown("mechanism", name, known_mechanisms())
    return name, parts


def as_mechanism(given: object) -> Mechanism:
    """A mechanism given as itself or by its spec."""
    if isinstance(given, Mechanism):
        return given
    if isinstance(given, str):
        return parse(given)
    if isinstance(given, type) and issubclass(given, Mechanism):
        raise RecveilError(f"{given.__name__} is a class; write {given.__name__}(...) with its parameters")
    wanted = "a mechanism is a spec such as 'mask:p=0.9', or an object such as recveil.Mask(0.9)"
    raise RecveilError(f"{wanted}; not a {type(given).__name__}")


def completed(given: object, people: int | None = None, **parameters: Any) -> Mechanism:
    """A mechanism given as itself or by its spec, with parameters beside it; where delta is missing and the number of
    people is declared, one tenth of one over it.
    """
    if not isinstance(given, str):
        made = as_mechanism(given)
        return replace(made, **parameters) if parameters else made
    name, parts = _named(given)
    parts += [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in parameters.items()]
    if people and any(f.name == "delta" and f.default is MISSING for f in fields(known_mechanisms()[name])):
        parts += [] if any(part.startswith("delta=") for part in parts) else [f"delta={default_delta(people):g}"]
    return parse(name + (":" + ",".join(parts) if parts else ""))


def default_delta(people: int) -> float:
    """One tenth of one over the number of people, to one digit, rounded down."""
    digits = floor(log10(0.1 / people))
    return float(f"{floor(0.1 / people / 10.0**digits * (1 + 1e-12))}e{digits}")


def first_spec(mechanism: type[Mechanism]) -> str:
    """The spec for a first look: its name with the parameters that it must be told."""
    return mechanism.name + (f":{mechanism.example_parameters}" if mechanism.example_parameters else "")


def may_prove(spec: str) -> bool:
    """Whether a mechanism has a proof, once what the spec leaves open (its strength, too) is chosen."""
    made = known_mechanisms()[_named(spec)[0]]
    first = parse(first_spec(made))
    if made.strength:
        first = replace(first, **{made.strength[0]: made.strength[1][0]})
    return parse(spec, first).is_proved


def is_named(spec: str) -> bool:
    """Whether a text begins with the name of a mechanism."""
    return spec.strip().partition(":")[0] in known_mechanisms()


def text(mechanism: Mechanism) -> str:
    """The spec that gives this mechanism; parameters at their defaults are left out."""
    parts = [
        f"{f.name}={str(value).lower() if isinstance(value, bool) else value}"
        for f in fields(mechanism)
        if (value := getattr(mechanism, f.name)) != f.default
    ]
    return mechanism.name + (":" + ",".join(parts) if parts else "")


def _value(name: str, key: str, text: str, hint: Any) -> Any:
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    for kind in (bool, int, float, str):
        if kind not in kinds:
            continue
        try:
            if kind is bool:
                return {"true": True, "yes": True, "false": False, "no": False}[text.lower()]
            return kind(text)
        except (KeyError, ValueError):
            continue
    if type(None) in kinds and text.lower() == "none":
        return None
    wanted = " or ".join(
        {bool: "true or false", int: "a whole number", float: "a number"}.get(k, str(k)) for k in kinds
    )
    raise RecveilError(f"{name}: parameter {key} must be {wanted}, not {text!r}")
