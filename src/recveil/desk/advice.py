"""Which mechanisms fit this kind of data and need, and why: plain rules, each with its reason."""

from __future__ import annotations

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism, Synthesis
from recveil.mechanisms import known_mechanisms
from recveil.report.table import Advice

FEW_PEOPLE = 1000


def advise(data: Interactions) -> tuple[Advice, ...]:
    """Every mechanism of the catalogue, those that fit first."""
    found = [_one(name, mechanism, data) for name, mechanism in known_mechanisms().items()]
    return tuple(sorted(found, key=lambda a: not a.fits))


def _one(name: str, mechanism: type[Mechanism], data: Interactions) -> Advice:
    for column in mechanism.needs:
        if getattr(data, column) is None:
            return Advice(name, False, f"It needs a {column} column, and the data have none.")
    if mechanism.kinds and data.kind not in mechanism.kinds:
        return Advice(name, False, f"It is made for {' and '.join(mechanism.kinds)}, and these are {data.kind}.")
    why = mechanism.purpose or (mechanism.__doc__ or name).strip().splitlines()[0]
    if issubclass(mechanism, Synthesis) and data.n_users < FEW_PEOPLE:
        why += f" With {data.n_users:,} {data.unit}s the noise will be strong: look at the lift before you decide."
    return Advice(name, True, why)


def first_spec(mechanism: type[Mechanism]) -> str:
    """The spec for a first look: its name with the parameters that it must be told."""
    return mechanism.name + (f":{mechanism.first_look}" if mechanism.first_look else "")


def fitting(data: Interactions) -> list[str]:
    """Specs of every mechanism of the catalogue that fits these data, with the parameters that it must be told."""
    from recveil.mechanisms.spec import parse

    specs = []
    for name, mechanism in known_mechanisms().items():
        spec = first_spec(mechanism)
        if _one(name, mechanism, data).fits:
            try:
                parse(spec).check_fit(data)
            except RecveilError:
                continue
            specs.append(spec)
    return specs
