"""Which mechanisms fit this kind of data and need, and why: plain rules, each with its reason."""

from __future__ import annotations

import re

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.facts import LogFacts, facts_of
from recveil.mechanism import Mechanism, Synthesis
from recveil.mechanisms import known_mechanisms
from recveil.mechanisms.spec import first_spec, parse
from recveil.report.table import Advice
from recveil.scales import fitting_scale

FEW_PEOPLE = 1000
FEW_RATERS = 3  # people who must have given a rating before it counts for the scale that is proposed


def advise(log: Interactions | LogFacts) -> tuple[Advice, ...]:
    """Every mechanism of the catalogue, those that fit first."""
    facts = facts_of(log)
    found = [_one(name, mechanism, facts) for name, mechanism in known_mechanisms().items()]
    return tuple(sorted(found, key=lambda a: not a.fits))


def _one(name: str, mechanism: type[Mechanism], facts: LogFacts) -> Advice:
    data = facts.specimen
    for column in mechanism.needs:
        if getattr(data, column) is None:
            return Advice(name, False, f"It needs a {column} column, and the data have none.")
    if mechanism.kinds and data.kind not in mechanism.kinds:
        return Advice(name, False, f"It is made for {' and '.join(mechanism.kinds)}, and these are {data.kind}.")
    why = mechanism.purpose or (mechanism.__doc__ or name).strip().splitlines()[0]
    if issubclass(mechanism, Synthesis) and facts.n_users < FEW_PEOPLE:
        why += f" With {facts.n_users:,} {data.unit}s the noise will be strong: look at the lift before you decide."
    return Advice(name, True, why, mechanism.best_for)


def scale_of(log: Interactions | LogFacts) -> str | None:
    """The well-known scale on which these ratings seem to be; the owner says whether it is that. None: there is none.

    A rating that few people gave does not count, as long as there are others.
    """
    facts = facts_of(log)
    seen, told = facts.levels, facts.specimen.levels
    if seen is None or not facts.rows:
        return None
    if told is not None:
        return f"({','.join(f'{level:g}' for level in told)})"
    usual = seen.values[seen.raters >= FEW_RATERS]
    return fitting_scale((usual if len(usual) else seen.values).tolist())


def told_scale(spec: str, scale: str | None) -> str:
    """A spec whose scale of ratings is this one."""
    return spec if scale is None else re.sub(r"scale=(\([^)]*\)|[^,]+)", f"scale={scale}", spec)


def fitting(log: Interactions | LogFacts) -> list[str]:
    """Specs of every mechanism of the catalogue that fits these data, with the parameters that it must be told."""
    facts, specs, scale = facts_of(log), [], scale_of(log)
    for name, mechanism in known_mechanisms().items():
        spec = told_scale(first_spec(mechanism), scale)
        if _one(name, mechanism, facts).fits:
            try:
                parse(spec).check_fit(facts.specimen)
            except RecveilError:
                continue
            specs.append(spec)
    return specs
