"""One promise for a whole period, and what each window may spend of it: a P-th part for every person."""

from __future__ import annotations

from dataclasses import fields, replace
from math import floor, log10

from recveil.dp.budget import rho_of
from recveil.errors import RecveilError
from recveil.guarantee import NEIGHBOURS, Guarantee, strength
from recveil.mechanism import PublicInfo, Synthesis
from recveil.mechanisms import known_mechanisms
from recveil.mechanisms.spec import first_spec, parse
from recveil.series.periods import Period

PROOF = "docs/guarantees/series.md"
_DIGITS = 6  # of a window's epsilon


def as_synthesis(spec: str) -> Synthesis:
    """The mechanism of a series: one that publishes noisy statistics of people. Its epsilon and delta are settled here,
    whatever the spec says of them is refused.
    """
    name = spec.strip().partition(":")[0]
    made = known_mechanisms().get(name)
    first = parse(first_spec(made)) if made is not None else None
    found = parse(spec, first)
    named = {f.name for f in fields(found)}
    if not isinstance(found, Synthesis) or not found.is_proved or not {"epsilon", "delta"} <= named:
        raise RecveilError(f"{name} does not fit a series: it takes a proof with epsilon and delta, such as dp-streams")
    assert first is not None
    given = [key for key in ("epsilon", "delta") if f"{key}=" in spec]
    if given:
        raise RecveilError(f"the {given[0]} of a series is that of a whole period: give it with --{given[0]}")
    return found


def keeps(promise: Guarantee, period: Period) -> bool:
    """Whether P windows with this promise keep that of the period."""
    many = period.participations
    if promise.rho is None:
        return many * (promise.epsilon or 0.0) <= period.epsilon and many * promise.delta <= period.delta
    rest = period.delta - many * promise.rho_fails
    return rest > 0 and many * promise.rho <= rho_of(period.epsilon, rest)


def of_window(mechanism: Synthesis, public: PublicInfo, period: Period) -> Synthesis:
    """The mechanism as a window may use it: its delta a P-th part, its epsilon the largest that the period keeps."""
    delta = period.delta / period.participations

    def at(epsilon: float) -> Synthesis:
        found = replace(mechanism, epsilon=epsilon, delta=delta)  # type: ignore[call-arg]
        assert isinstance(found, Synthesis)
        return found

    low, high = 0.0, period.epsilon
    if keeps(at(high).guarantee(public), period):
        return at(high)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(at(middle).guarantee(public), period) else (low, middle)
    digits = 10.0 ** (_DIGITS - 1 - floor(log10(low)))
    made = at(floor(low * digits) / digits)
    check(made.guarantee(public), period)
    return made


def check(promise: Guarantee, period: Period) -> None:
    """Raise, before any noise, where a window would cost more than its part."""
    if promise.unit not in ("user", "session"):
        raise RecveilError(
            f"the promise of a series is about a person, and that of this mechanism about a {promise.unit}"
        )
    if not keeps(promise, period):
        raise RecveilError("a window would cost more than its part of the period; nothing was drawn")


def of_period(promise: Guarantee, period: Period) -> Guarantee:
    """What all windows of a period promise together, from what one of them does."""
    many, unit = period.participations, promise.unit or "user"
    given = f", given that {promise.given} is public" if promise.given else ""
    return Guarantee(
        f"Whoever sees all {period.windows} windows of this period learns almost the same whether or not any one "
        f"{unit} was in the data at any time of it ({strength(period.epsilon, period.delta)}){given}. "
        f"Every {unit} counts in at most {many} of the windows.",
        status="proved",
        epsilon=period.epsilon,
        delta=period.delta,
        unit=unit,
        neighbours=NEIGHBOURS[unit],
        given=promise.given,
        proof=PROOF,
        rho=None if promise.rho is None else many * promise.rho,
        rho_fails=many * promise.rho_fails,
    )
