"""Mechanism: a frozen dataclass whose fields are its parameters, checked at birth. Two shapes, no third.

Masking sees rows and rewrites them, given a plan made from mergeable counts. Synthesis never hands a row to the step
that draws: rows become counts, counts become published noisy statistics, and only these reach `draw`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import By, Interactions, Kind, concat
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee
from recveil.items import PublicItems
from recveil.parameters import Within as Within
from recveil.parameters import check
from recveil.parameters import parameter as parameter
from recveil.randomness import Source


class Sums(dict[str, Any]):
    """Tables by name, as a count may return them; they add with `+`, table by table."""

    def __add__(self, other: Sums) -> Sums:
        return Sums({name: table + other[name] for name, table in self.items()})


@dataclass(frozen=True)
class PublicInfo:
    """What may be known of the data without spending privacy. A guarantee and a drawing step see this, never rows."""

    kind: Kind
    unit: str
    items: pl.Series  # the catalogue; where none was given, the observed items, or those that a Synthesis selected
    tags: pl.Series | None  # likewise
    catalogue: bool  # whether the catalogue was given as public input
    lists: tuple[str, ...] = ()  # what else was: tags, users
    users: pl.Series | None = None  # for a mechanism that takes them to be public, and no other
    untyped: frozenset[str] = frozenset()  # of ids read from text: those that are published settle their type
    features: PublicItems | None = None  # what a public file tells of these items; the catalogue is its own then
    sessions: bool = False  # whether streams are sessions, of which the unit of privacy has all
    earlier: Any = None  # noisy tables that earlier releases of the same people published


@dataclass(frozen=True)
class Probe:
    """Many canaries for an audit in one run, each in or out by a coin: the data with those inside, and public lists.

    `scores` reads what was published or released, and the rows as they were coded: positive where one seems to be in.
    """

    canary: str  # what each of them is, in words
    data: Interactions
    scores: Callable[[Any, Interactions], NDArray[np.float64]]
    items: pl.Series
    tags: pl.Series | None = None
    users: pl.Series | None = None


@dataclass(frozen=True)
class Mechanism(ABC):
    """What Masking and Synthesis share: a name, checked parameters, needs, and a guarantee."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()  # columns without which it cannot work: rating, time, tag
    kinds: ClassVar[tuple[Kind, ...]] = ()  # what it is made for, where that is narrower than what it can run on
    reads_sessions: ClassVar[bool] = False  # whether sessions of a person are streams; if not, they are one
    reads_features: ClassVar[bool] = False  # whether public features of items are of use to it
    local_only: ClassVar[str] = ""  # why it does not run on a cluster; empty: it does
    best_for: ClassVar[str] = ""  # what it keeps most of, among those with a proof: lists, ratings, tags
    purpose: ClassVar[str] = ""  # what it is for, in a sentence that holds for all data it fits
    example_parameters: ClassVar[str] = ""  # those that have no default, as a spec for a first look writes them
    learned_from: ClassVar[str] = ""  # what `recommend` learns from: bits, or tables; empty: it cannot
    strength: ClassVar[tuple[str, tuple[float, ...]] | None] = None  # what protects, and its values, strongest first
    keeps: ClassVar[tuple[str, ...]] = ()  # beside lists: what it is made to keep (skill, agreement)
    tuned_by: ClassVar[str] = ""  # how `tune` finds its strength: ratio or rungs; empty: by what lists still teach
    cluster_steps: ClassVar[str] = ""  # the steps that are jobs of their own on a cluster; empty: none
    hides_attribute: ClassVar[bool] = False  # whether it must be told what people are, in order to hide it
    also: ClassVar[tuple[str, str] | None] = None  # another name and a parameter that mean this mechanism
    changes_nothing: ClassVar[bool] = False  # but ids: what others are compared with
    to_begin_with: ClassVar[bool] = False  # whether it is worth a first look beside those with a proof
    next_best: ClassVar[bool] = False  # whether to take it where a proof would leave next to nothing
    fewest_items: ClassVar[int] = 1  # below which it releases nothing
    takes_many: ClassVar[bool] = False  # whether items stand out of its noise only where there are many people

    def __post_init__(self) -> None:
        for f in fields(self):
            check(self.name, f, getattr(self, f.name))

    @abstractmethod
    def guarantee(self, public: PublicInfo) -> Guarantee:
        """What a release promises, and under which public facts."""

    @abstractmethod
    def card(self) -> str:
        """In plain words for the bundle's README: what was done, and what an attacker still learns."""

    @property
    def is_proved(self) -> bool:
        """Whether it has a proof, all lists being public: nothing in its way may look at the data outside it, not even
        a refusal. A fact of its guarantee, whatever its name.
        """
        none, lists = pl.Series([], dtype=pl.String), ("tags", "users")
        return self.guarantee(PublicInfo("tags", "user", none, none, True, lists, none)).status == "proved"

    def with_declared(self, data: Interactions) -> Mechanism:
        """Itself with the parameters that the types of columns declare; no row is looked at."""
        return self

    def declared_levels(self, data: Interactions) -> tuple[float, ...] | None:
        """Levels of ratings that it was told, by a parameter or by the type of their column; None: it needs none."""
        return None

    @property
    def kept_bits(self) -> float | None:
        """With which probability a bit of a profile is known to be left as it is."""
        return None

    def invented_rows(self, people: int, items: int) -> int:
        """About how many rows of its release stand for nothing in the data: those who judge it work on them, too."""
        return 0

    def choosing_seconds(self, data: Interactions) -> float:
        """About how long it takes to choose parameters on the data by itself."""
        return 0.0

    def laws(self, public: PublicInfo) -> Mapping[str, Any]:
        """The noise that is added to each table, by name (dp/noise.py); empty: to none."""
        return {}

    def probe(self, data: Interactions, inside: NDArray[np.bool_], rng: np.random.Generator) -> Probe | None:
        """Canaries for an audit in one run, as many as there are coins in `inside`; None: it has none."""
        return None

    def seen_through(self, watch: Any) -> Mechanism:
        """Itself, telling an audit's watch what chances it takes. A Synthesis is seen by what it publishes."""
        return self

    def check_fit(self, data: Interactions) -> None:
        """Raise a clear error where the data lack what the mechanism needs."""
        for column in self.needs:
            if getattr(data, column) is None:
                raise RecveilError(f"{self.name} needs a {column} column, and the data have none")


@dataclass(frozen=True)
class Masked:
    """Masked rows; for each released user, whose profile it came from (an original id). Scoring needs it only."""

    rows: Interactions
    origin: pl.Series  # original user ids, aligned with rows.users
    notes: Mapping[str, int] = field(default_factory=dict)  # counts for the manifest, added up over chunks


@dataclass(frozen=True)
class Rows:
    """The rows themselves as the counts of a chunk, where no smaller statistic would do; they add with `+`."""

    parts: tuple[Interactions, ...]

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.parts + other.parts)

    def whole(self) -> Interactions:
        return concat(self.parts)


class Masking(Mechanism):
    """count(chunk) -> counts that add with `+`; plan(counts); mask(chunk, plan, source) -> Masked.

    Chunks hold whole users (`by` = user, in time order) or whole items (raters in the order of their ids). Randomness
    comes from `source` by the key of the user or item (Interactions.keys), never by position in the chunk.
    """

    by: ClassVar[By] = "user"
    ordered: ClassVar[bool] = True  # whether the order of masked rows can mean anything
    reads_time: ClassVar[bool] = False  # whether masking looks at times; if not, those to be dropped go first
    dense: ClassVar[bool] = False  # whether what it releases grows with users times items, not with rows
    everyone: ClassVar[bool] = False  # whether people without a row are masked too; chunks then name their own people
    answers_all: ClassVar[bool] = False  # whether rows stay whose tags no public list has; they come last, nameless

    def count(self, chunk: Interactions) -> Any:
        """Mergeable statistics of a chunk; None where no plan is needed."""
        return None

    def plan(self, counts: Any, source: Source) -> Any:
        """What `mask` must know about the whole data."""
        return counts

    def with_parameters(self, plan: Any) -> Masking:
        """Itself with the parameters that the plan chose: what the manifest names and the guarantee speaks of."""
        return self

    @abstractmethod
    def mask(self, chunk: Interactions, plan: Any, source: Source) -> Masked: ...


@dataclass(frozen=True)
class Drawn:
    """Rows drawn from published statistics, and tables to publish beside them, whose column `user` holds codes.

    origin: the public ids that the released users stand for, where they stand for anybody.
    """

    rows: Interactions
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    origin: pl.Series | None = None
    notes: Mapping[str, str] = field(default_factory=dict)  # for the manifest and the owner, told by statistics alone


Lister = tuple[Callable[[Interactions], dict[Any, list[Any]]], int]


class Synthesis(Mechanism):
    """Rounds of count and publish, then draw. `published` grows by one entry each round: named arrays.

    `drawing` names the parameters that concern `draw` alone: the same statistics serve for other values of them.
    """

    rounds: ClassVar[int] = 1
    most_of_one: ClassVar[int] = 1  # ids with which one unit counts at most where they are selected
    drawing: ClassVar[tuple[str, ...]] = ()
    carries: ClassVar[bool] = False  # whether windows of a series are combined where the list of items is public

    @property
    def knows_users(self) -> bool:
        """Whether it takes the list of users to be public."""
        return False

    def rounds_for(self, public: PublicInfo) -> int:
        """How many rounds there are, given what is public."""
        return self.rounds

    def selects(self, public: PublicInfo) -> tuple[str, ...]:
        """Lists (items, tags) that it selects within its budget, since they are not public; empty until it has."""
        return ()

    def people_of_an_item(self, public: PublicInfo, items_each: float) -> float | None:
        """About how many people must have an item or it is not kept, who have so many items each; None: any do."""

    def selection_delta(self, public: PublicInfo) -> float:
        """The part of delta that pays for what it selects: the chance that an id of one unit alone is kept."""
        return 0.0

    @abstractmethod
    def count(self, chunk: Interactions, published: tuple[Any, ...], public: PublicInfo) -> Any:
        """Statistics of this round with every user's contribution bounded; they add with `+`."""

    @abstractmethod
    def publish(self, counts: Any, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Mapping[str, Any]:
        """The round's statistics with noise, named arrays: the only thing that later steps see.

        A list that was not public is `Selected` (dp/vocabulary.py): from then on the data hold what was kept alone.
        """

    def list_maker(self, published: tuple[Any, ...], public: PublicInfo, items: pl.Series, n: int) -> Lister:
        """What gives every user n new items by her own history, and of how many items it knows what goes with them.

        items: those of the tables, as ids of the histories.
        """
        raise TypeError(f"{self.name} publishes no tables of pairs")

    @abstractmethod
    def draw(self, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Drawn:
        """Released rows from published statistics and public facts alone."""
