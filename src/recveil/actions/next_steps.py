"""What to type next: whole command lines for these data. Whether they can keep a promise is not looked at here."""

from __future__ import annotations

from shlex import quote

from recveil.data import Interactions
from recveil.evaluation.advice import fitting
from recveil.formats.parts import Location, quoted
from recveil.mechanisms.spec import parse

SCHEMA = "log.toml"
MOST = 4  # mechanisms to begin with: a baseline, a promise, and what else there is


def next_steps(source: Location, data: Interactions, how: str = "", undeclared: bool = False) -> list[str]:
    """assess, compare, release and verify, in the order in which an owner does them.

    `how`: the options by which the data are read. `undeclared`: a schema must be written before a release with a proof.
    """
    first = [f"recveil inspect {quoted(source)}{how} --schema {SCHEMA}"] if undeclared else []
    given = quoted(source) + (f" --schema {SCHEMA}" if undeclared else how)
    specs = starters(data)
    with_ = " ".join(f"--with {quote(spec)}" for spec in specs)
    promised = next((spec for spec in specs if parse(spec).is_proved), specs[0])
    return [
        *first,
        f"recveil assess {given}",
        f"recveil compare {given} {with_} --quick -o report.html",
        f"recveil release {given} --with {quote(promised)} -o out",
        "recveil verify out",
    ]


def starters(data: Interactions) -> list[str]:
    """Mechanisms worth a first look: the baseline, then those with a promise, then others that fit."""
    specs = fitting(data)
    order = [s for s in specs if s == "pseudonymise"]
    order += [s for s in specs if parse(s).is_proved]
    order += [s for s in specs if s.startswith(("microaggregation", "mask", "mbrw")) and s not in order]
    return order[:MOST]
