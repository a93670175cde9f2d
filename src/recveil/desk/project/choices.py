"""Choices: everything an owner decides on the way from a file to a signed bundle, as frozen data; desk.toml holds it.

A choice that does not fit raises ChoiceError, which names the field: a page shows the line beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from typing import Any

from recveil.errors import RecveilError, unknown

UNITS = ("user", "session", "record")
USES = ("recommend", "ratings", "algorithms", "tags")
MEASURED_ON = ("twin", "sample", "data")
DECISIONS = ("", "approved", "refused")
RATINGS = ("both", "with", "without")
# As their own modules have them, which are slow to load; a test holds them together.
FORMATS = ("parquet", "csv", "inter", "itemsets")
TIMES = ("auto", "drop", "order", "keep")
KNOWN_ITEMS = ("random", "rare", "consecutive")
EXPORTS = ("huggingface", "csv", "recbole", "kaggle", "frictionless", "zip")
Texts = tuple[str, ...]


class ChoiceError(RecveilError):
    """A choice that does not fit: `field` is its dotted name."""

    def __init__(self, field: str | None, line: str) -> None:
        super().__init__(line)
        self.field = field


@dataclass(frozen=True)
class Data:
    """source: a path (relative to the folder) or sample:NAME. columns: roles to names. types: of ids, int or text.

    schema: in place of columns and types, the file that recveil inspect wrote. items: the public file of items.
    """

    source: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    duplicates: str = "last"
    fold_tags: bool = False
    schema: str = ""
    items: str = ""


@dataclass(frozen=True)
class Protect:
    unit: str = "user"


@dataclass(frozen=True)
class To:
    """name: a recipient that recveil knows, or a file. limits: changed ones, each as "0.05: the reason"."""

    name: str = ""
    purpose: str = ""
    contract: str = ""
    title: str = ""
    controller: str = ""
    contact: str = ""
    legal_basis: str = ""
    necessity: str = ""
    retention: str = ""
    controls: str = ""
    trust_model: str = ""
    review: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Use:
    """What must still work, and how much of it. on: where that is measured; people, items: the size of a twin."""

    what: str = ""
    keep: float = 0.7
    on: str = "twin"
    people: int = 0
    items: int = 0


@dataclass(frozen=True)
class Candidates:
    """Mechanisms and files of other tools to compare, how thoroughly (by which measures; all), and the chosen one."""

    specs: Texts = ()
    files: Texts = ()
    chosen: str = ""
    quick: bool = True
    measures: Texts = ()
    shadows: int = 0
    holdout: float = 0.2
    seed: int = 0


@dataclass(frozen=True)
class Wishes:
    """How the bundle is made. seed: -1 for none. holdout: people kept out, as strangers for the attacks.

    catalogue: another name of data.items, for the bundle alone. publish_titles: titles of items travel in it.
    """

    seed: int = -1
    format: str = "parquet"
    time: str = "auto"
    holdout: float = 0.1
    licence: str = ""
    catalogue: str = ""
    publish_titles: bool = False
    catalogue_is_public: bool = False
    ledger: str = "ledger.jsonl"
    outside_budget: bool = False


@dataclass(frozen=True)
class RedTeam:
    """What the attackers know: `known` items, else what the recipient is taken to know; files that they bring."""

    known: str = ""
    items: str = "random"
    ratings: str = "both"
    shadows: int = 8
    attributes: str = ""
    also: str = ""
    measures: Texts = ()


@dataclass(frozen=True)
class Officer:
    name: str = ""
    role: str = ""
    decision: str = ""
    reason: str = ""
    conditions: Texts = ()
    until: str = ""
    key: str = ""
    opinion: str = ""


@dataclass(frozen=True)
class Owner:
    key: str = ""


@dataclass(frozen=True)
class Publish:
    exports: Texts = ("zip",)
    series: str = ""  # a folder: its windows that are due leave with every recveil run


@dataclass(frozen=True)
class Judging:
    """people: the share set aside before the first release, to judge models of others within epsilon; 0: nobody.
    submissions: files to be judged. references: most-popular and item-knn of the release beside them.
    """

    people: float = 0.0
    epsilon: float = 1.0
    metrics: str = "ndcg@10"
    submissions: Texts = ()
    references: bool = False


@dataclass(frozen=True)
class Choices:
    """All sections of desk.toml."""

    data: Data = field(default_factory=Data)
    protect: Protect = field(default_factory=Protect)
    recipient: To = field(default_factory=To)
    use: Use = field(default_factory=Use)
    candidates: Candidates = field(default_factory=Candidates)
    release: Wishes = field(default_factory=Wishes)
    red_team: RedTeam = field(default_factory=RedTeam)
    officer: Officer = field(default_factory=Officer)
    owner: Owner = field(default_factory=Owner)
    publish: Publish = field(default_factory=Publish)
    judge: Judging = field(default_factory=Judging)

    def record(self) -> dict[str, Any]:
        """As plain data; lists for tuples."""
        return {
            name: {key: list(value) if isinstance(value, tuple) else value for key, value in section.items()}
            for name, section in asdict(self).items()
        }

    def changed(self, changes: Any) -> Choices:
        """With other values for some fields; what is not named stays."""
        if not isinstance(changes, Mapping):
            raise ChoiceError(None, "choices are sections, such as [data], with values below")
        return checked(replace(self, **{name: self._section(name, given) for name, given in changes.items()}))

    def _section(self, name: str, given: Any) -> Any:
        known = [f.name for f in fields(self)]
        if name not in known:
            raise ChoiceError(None, str(unknown("section", str(name), known)))
        if not isinstance(given, Mapping):
            raise ChoiceError(name, f"{name} is a section: [{name}] with values below")
        section = getattr(self, name)
        values = {f.name: getattr(section, f.name) for f in fields(section)}
        for key, value in given.items():
            if key not in values:
                raise ChoiceError(f"{name}.{key}", str(unknown(f"choice in {name}", str(key), values)))
            values[key] = _fitting(f"{name}.{key}", values[key], value)
        return type(section)(**values)


def _fitting(where: str, like: Any, value: Any) -> Any:
    """The value in the type of the one that it replaces."""
    if isinstance(like, bool):
        fits, wants = isinstance(value, bool), "true or false"
    elif isinstance(like, int):
        fits, wants = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    elif isinstance(like, float):
        fits, wants = isinstance(value, int | float) and not isinstance(value, bool), "a number"
    elif isinstance(like, tuple):
        fits, wants = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value), "a list of texts"
    elif isinstance(like, Mapping):
        fits = isinstance(value, Mapping) and all(isinstance(v, str) for v in (*value, *value.values()))
        wants = "a table of texts"
    else:
        fits, wants = isinstance(value, str), "a text"
    if not fits:
        raise ChoiceError(where, f"{where} is {wants}, not {value!r}")
    if isinstance(like, str) and not value.isprintable():
        raise ChoiceError(where, f"{where} is one line of text without control characters")
    if isinstance(like, tuple):
        return tuple(dict.fromkeys(v.strip() for v in value if v.strip()))
    if isinstance(like, Mapping):
        return {key: text for key, text in value.items() if text}
    return float(value) if isinstance(like, float) else value.strip() if isinstance(like, str) else value


def checked(choices: Choices) -> Choices:
    """The choices, or the first that cannot be."""
    c = choices
    for where, value, known in (
        ("protect.unit", c.protect.unit, UNITS),
        ("use.what", c.use.what, ("", *USES)),
        ("use.on", c.use.on, MEASURED_ON),
        ("release.format", c.release.format, FORMATS),
        ("release.time", c.release.time, TIMES),
        ("red_team.items", c.red_team.items, KNOWN_ITEMS),
        ("red_team.ratings", c.red_team.ratings, RATINGS),
        ("officer.decision", c.officer.decision, DECISIONS),
        *(("publish.exports", name, EXPORTS) for name in c.publish.exports),
    ):
        if value not in known:
            raise ChoiceError(where, str(unknown(where, value, (k for k in known if k))))
    for where, share, least in (
        ("use.keep", c.use.keep, 0.01),
        ("candidates.holdout", c.candidates.holdout, 0.01),
        ("release.holdout", c.release.holdout, 0.0),
        ("judge.people", c.judge.people, 0.0),
    ):
        if not least <= share < 1:
            raise ChoiceError(where, f"{where} is a share from {least:g} to below 1, not {share:g}")
    for where, number, low in (
        ("use.people", c.use.people, 0),
        ("use.items", c.use.items, 0),
        ("candidates.shadows", c.candidates.shadows, 0),
        ("red_team.shadows", c.red_team.shadows, 0),
        ("candidates.seed", c.candidates.seed, 0),
        ("release.seed", c.release.seed, -1),
    ):
        if number < low:
            raise ChoiceError(where, f"{where} is at least {low}, not {number}")
    known_levels(c)
    last_day(c)
    day_of("recipient.review", c.recipient.review)
    return choices


def known_levels(choices: Choices) -> tuple[int, ...] | None:
    """How many items the attackers of the red team know."""
    text = choices.red_team.known
    try:
        levels = tuple(int(part) for part in text.split(",")) if text else None
    except ValueError:
        levels = (0,)
    if levels is not None and min(levels) < 1:
        raise ChoiceError("red_team.known", f"red_team.known takes whole numbers such as 2,4,8, not {text!r}")
    return levels


def last_day(choices: Choices) -> date | None:
    """The last day of an approval."""
    return day_of("officer.until", choices.officer.until)


def day_of(where: str, text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise ChoiceError(where, f"{where} is a day such as 2027-11-15, not {text!r}") from None
