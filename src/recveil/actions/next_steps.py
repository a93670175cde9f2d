"""What to type next: whole command lines for these data, from a look at them to a verified bundle.

Which mechanism is suggested follows from how many people, items and rows there are, to one digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote

from recveil.data import Interactions
from recveil.evaluation.advice import fitting
from recveil.evaluation.facts import LogFacts, facts_of
from recveil.formats.parts import Location, quoted
from recveil.mechanisms.spec import parse
from recveil.releases.forecast import Forecast, LogSize, forecast

SCHEMA, HELD = "log.toml", "held.parquet"
EACH, OF_EACH = 5, 2.5  # rows of a person and of an item, about, from which on groups of people share anything
WITH_FILE = (
    "with a public file of items none of them is selected within the budget; compare says what is kept beside it"
)
MOST = 4  # mechanisms to begin with: a baseline, a promise, and what else there is


@dataclass(frozen=True)
class NextSteps:
    """Commands in the order in which an owner types them, and what speaks for the mechanism in them."""

    commands: list[str]
    words: list[str]


def next_steps(
    source: Location, log: Interactions | LogFacts, how: str = "", undeclared: str | None = None, items: str = ""
) -> NextSteps:
    """`how`: the options by which the data are read. `undeclared`: those with which a schema must be written before a
    release with a proof; None where there is no need. `items`: the option of a public file of items.
    """
    first = [] if undeclared is None else [f"recveil inspect {quoted(source)}{undeclared} --schema {SCHEMA}"]
    given = quoted(source) + (how if undeclared is None else f" --schema {SCHEMA}")
    facts = facts_of(log)
    able, specs = fitting(facts), starters(facts)
    with_ = " ".join(f"--with {quote(spec)}" for spec in specs)
    size = LogSize(facts.n_users, facts.n_items, facts.rows).rounded()
    spec, expected = suggested(specs, able, size, listed=bool(items))
    declared = f" --size {size}" if expected and not expected.doubtful else ""
    public = f"{items} --catalogue-is-public" if items and parse(spec).is_proved else items
    commands = [
        *first,
        f"recveil assess {given}",
        f"recveil compare {given} {with_} --quick -o report.html{items}",
        f"recveil release {given} --with {quote(spec)}{declared} --holdout 0.1 --holdout-file {HELD} -o out{public}",
        f"recveil measure {given} out --holdout {HELD} --keep{items}",
        "recveil decide out",
        "recveil verify out",
    ]
    words = _words(spec, expected)
    if items and parse(spec).is_proved:
        words.append(WITH_FILE)
    if expected and expected.doubtful and (proved := next((s for s in specs if parse(s).is_proved), None)):
        knowingly = f"recveil release {given} --with {quote(proved)} --size {size} --go-on"
        words.append(f"with a proof all the same, knowingly: {knowingly} --holdout 0.1 --holdout-file {HELD} -o out")
    return NextSteps(commands, words)


def suggested(specs: list[str], able: list[str], size: LogSize, listed: bool = False) -> tuple[str, Forecast | None]:
    """The first with a proof that is likely to keep enough, with its forecast; where none is, the next best of all that
    are able, with the forecast that speaks against the others. `listed`: items have a public list, so nothing is
    forecast of which of them are kept.
    """
    proved = [spec for spec in specs if parse(spec).is_proved]
    expected = [None if listed else forecast(parse(spec), size) for spec in proved]
    for spec, found in zip(proved, expected, strict=True):
        if found is None or not found.doubtful:
            return spec, found
    shared = size.rows >= EACH * size.people and size.rows >= OF_EACH * size.items  # else groups have nothing in common
    next_best = [spec for spec in able if shared and parse(spec).next_best]
    without = [spec for spec in specs if spec not in proved]
    return [*next_best, *without[1:], *without][0], next((found for found in expected if found is not None), None)


def _words(spec: str, expected: Forecast | None) -> list[str]:
    if expected is None:
        return []
    if not expected.doubtful:
        return [expected.words()]
    would = "would" if expected.hopeless else "may"
    lines = [f"{expected.mechanism.name} at this epsilon {would} keep next to nothing: {expected.words()}"]
    lines.append("what would help: " + "; ".join(expected.help()))
    name = parse(spec).name
    return [*lines, f"until then {name} is suggested, which proves nothing about a whole person"]


def starters(log: Interactions | LogFacts) -> list[str]:
    """Mechanisms worth a first look: the baseline, then those with a promise, then others that fit."""
    specs = fitting(log)
    able = [(spec, parse(spec)) for spec in specs]
    order = [spec for spec, one in able if one.changes_nothing]
    order += [spec for spec, one in able if one.is_proved]
    order += [spec for spec, one in able if one.to_begin_with and spec not in order]
    return order[:MOST]
