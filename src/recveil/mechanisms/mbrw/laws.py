"""Laws of counts, written as in "normal(3,2)", "poisson(4)", "empirical": how many items are remembered or walked.

A draw is rounded to a whole number, and is at least 1; only constant(0) gives 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import erfc, sqrt
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil.errors import RecveilError, unknown

Floats = NDArray[np.float64]

LARGEST = 10_000
_SPELT = re.compile(r"([a-z-]+)(?:\(([^()]*)\))?")
_UNLIKELY = 1e-3  # a share of draws that may be cut down to the largest value allowed


def _uniform(k: Any, low: float, high: float) -> Any:
    return np.clip((np.floor(k) - low + 1) / (high - low + 1), 0, 1)


def _normal(k: Any, mean: float, sd: float) -> Any:
    z = (k + 0.5 - mean) / sd  # one value, to be checked, loads no library
    return erfc(-z / sqrt(2)) / 2 if isinstance(k, float) else scipy.special.ndtr(z)


def _geometric(k: Any, p: float) -> Any:
    return 1 - (1 - p) ** k


# Of each law: the names of its arguments, what they must be, and the probability of at most k.
LAWS: dict[str, tuple[tuple[str, ...], Callable[..., bool], Callable[..., Any]]] = {
    "constant": (("value",), lambda v: v >= 0 and v == int(v), lambda k, v: 1.0 * (k >= v)),
    "uniform": (("low", "high"), lambda a, b: 0 <= a <= b and a == int(a) and b == int(b), _uniform),
    "normal": (("mean", "sd"), lambda _, sd: sd > 0, _normal),
    "poisson": (("mean",), lambda mean: mean > 0, lambda k, mean: scipy.special.pdtr(k, mean)),
    "negative-binomial": (
        ("r", "p"),
        lambda r, p: r > 0 and 0 < p < 1,
        lambda k, r, p: scipy.special.betainc(r, k + 1, p),
    ),
    "geometric": (("p",), lambda p: 0 < p <= 1, _geometric),
    "empirical": ((), lambda: True, lambda k: k),
}


@dataclass(frozen=True)
class LengthLaw:
    """A law by name and arguments. `empirical` is the law of the lengths of the real clickstreams."""

    name: str
    arguments: tuple[float, ...] = ()

    def cumulated(self, lengths: NDArray[np.int64] | None = None, most: int = LARGEST) -> Floats:
        """The probabilities of at most 0, 1, 2, ...; the last is 1."""
        k = np.arange(most + 1, dtype=np.float64)
        if self.name == "empirical":
            if lengths is None:
                raise ValueError("an empirical law needs the real lengths")
            table = np.cumsum(np.bincount(np.minimum(lengths, most), minlength=most + 1)) / len(lengths)
        else:
            table = LAWS[self.name][2](k, *self.arguments)
        if self != LengthLaw("constant", (0.0,)):
            table[0] = 0.0
        end = int(np.argmax(table >= table[-1]))
        table = table[: end + 1].copy()
        table[-1] = 1.0
        return table


def law(text: str, owner: str, most: int = LARGEST) -> LengthLaw:
    """A law from its text; `owner` names the parameter in an error, `most` is the largest value it can use."""
    spelt = _SPELT.fullmatch(text.replace(" ", ""))
    if spelt is None:
        raise RecveilError(f"{owner} must be a law such as normal(3,2) or empirical, not {text!r}")
    name, given = spelt[1], spelt[2]
    if name not in LAWS:
        raise unknown(f"law for {owner}", name, LAWS)
    names, sound, at_most = LAWS[name]
    try:
        arguments = tuple(float(part) for part in (given or "").split(",") if part or given)
    except ValueError:
        raise RecveilError(f"{owner}: the arguments of {name} must be numbers, not {given!r}") from None
    wanted = f"{name}({','.join(names)})" if names else name
    if len(arguments) != len(names) or not np.all(np.isfinite(arguments)):
        raise RecveilError(f"{owner}: write {wanted}, not {text!r}")
    if not sound(*arguments):
        raise RecveilError(f"{owner}: {wanted} has no law with the arguments of {text!r}")
    found = LengthLaw(name, arguments)
    if name == "empirical" or found == LengthLaw("constant", (0.0,)):
        return found
    if 1 - float(at_most(0.0, *arguments)) < _UNLIKELY:
        raise RecveilError(f"{owner}: {text} gives no positive value, or hardly ever")
    if 1 - float(at_most(float(most), *arguments)) > _UNLIKELY:
        raise RecveilError(f"{owner}: {text} gives more than {most:,}, which is the most that can be used")
    return found
