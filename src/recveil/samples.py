"""Generated worlds, so that everything runs with no download: films (ratings), sessions (clicks), tags (posts).

A world is a catalogue and people. Items belong to topics, have a popularity tail, a birth and a fashion that fades;
people love a few topics, come at some time and meet what is there then. `sample("films?users=100000,seed=3")` is
the same rows everywhere. People are generated in blocks, each from its own stream, so the first users of a large
world are those of a small one, memory follows the rows, and parts of a world can be made in different places.

Toy data for the public: nothing here is private, so NumPy's generator is good enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Floats, Interactions
from recveil.errors import RecveilError, unknown

Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]  # user (in the block), item (place in the catalogue), time and perhaps rating, tag

BLOCK = 1000  # users that share a stream of random numbers
EPOCHS = 16  # the catalogue changes with each
EPOCH = 90 * 86_400  # seconds
BEGIN = 1_420_070_400  # 2015-01-01
LIMITS = {"users": (1, 10_000_000), "items": (50, 1_000_000), "seed": (0, 2**63 - 1)}

FACTORS = 4  # of the taste that shows in ratings
FAVOURITES = 4  # topics that a person loves
HABITS = 8  # usual successors of an item, usual tags of an artist and of a user

GENRES = "rock jazz folk metal soul disco punk blues techno swing opera reggae ambient country latin rap"
STYLES = ["classic", "modern", "slow", "fast", "dark", "happy", "acoustic", "early", "late", "vocal"]
COMMON = ["favourites", "good", "seen live", "albums i own", "check out", "love", "background", "workout"]
SYLLABLES = "kalomiravesotinubedaforisamoleva"  # two letters each
MISFILED = 0.35  # items that are filed under a genre that is not theirs
NOTES = 20_000  # words that only one or a few people use

WORDS = {"films": ("film", "viewer"), "sessions": ("product", "session"), "tags": ("artist", "listener")}


def sample(name: str, part: int = 0, parts: int = 1) -> Interactions:
    """The world called `name`: "films", "sessions" or "tags", perhaps with "?users=...,items=...,seed=...".

    With `parts`, only every `parts`-th block of users, from the `part`-th on: all parts together are the world.
    """
    world, size = _asked(name)
    if not 0 <= part < parts:
        raise RecveilError(f"sample:{name}: parts count from 0, so there is no part {part} of {parts}")
    return _generate(world, **size, part=part, parts=parts)


def sample_items(name: str) -> pl.DataFrame:
    """The public file of a world's items. Genres tell less than topics: some, and most second ones, are by chance."""
    world, size = _asked(name)
    items, seed = size["items"], [size["seed"], 0, *world.noun.encode()]
    shelf, rng = _catalogue(items, np.random.default_rng(seed)), np.random.default_rng([*seed, *b"items"])
    topics = int(shelf.topic[-1]) + 1
    main = np.where(rng.random(items) < MISFILED, rng.integers(0, topics, items), shelf.topic)
    second = np.where(rng.random(items) < 0.7, rng.integers(0, topics, items), main)
    part = 2 * rng.integers(0, len(SYLLABLES) // 2, (items, 4))
    title = ["".join(SYLLABLES[p : p + 2] for p in row).title() for row in part]
    genres = ["|".join(_genre(t) for t in dict.fromkeys(pair)) for pair in zip(main, second, strict=True)]
    item, year = _ids(world, items).gather(shelf.code), 2015 + shelf.birth // 4
    return pl.DataFrame({"item": item, "title": title, "genres": genres, "year": year}).sort("item")


def blocks(name: str) -> int:
    """How many blocks of people the world has: parts beyond that are empty."""
    return -(-_asked(name)[1]["users"] // BLOCK)


def _asked(name: str) -> tuple[World, dict[str, int]]:
    name, asked, query = name.partition("?")
    if name not in WORLDS:
        raise unknown("sample", name, WORLDS)
    world = WORLDS[name]
    size = {"users": world.users, "items": world.items, "seed": 0}
    for setting in re.split("[,&]", query) if asked else ():
        key, _, text = setting.partition("=")
        if key not in size:
            raise unknown(f"parameter of sample:{name}", key, size)
        low, high = LIMITS[key]
        if not re.fullmatch("[0-9]{1,19}", text) or not low <= int(text) <= high:
            raise RecveilError(f"sample:{name}: {key} must be a whole number from {low} to {high}, not {text!r}")
        size[key] = int(text)
    return world, size


def _generate(world: World, users: int, items: int, seed: int, part: int, parts: int) -> Interactions:
    name = list(world.noun.encode())  # worlds of one seed have nothing in common
    catalogue = _catalogue(items, np.random.default_rng([seed, 0, *name]))

    def block(number: int) -> Columns:
        columns = world.people(catalogue, np.random.default_rng([seed, 1 + number, *name]))
        columns["user"] = (columns["user"] + number * BLOCK).astype(np.int32)
        columns["item"] = catalogue.code[columns["item"]]
        wanted = np.searchsorted(columns["user"], users)
        return {key: column[:wanted] for key, column in columns.items()}

    all_of_them = -(-users // BLOCK)
    made = [block(n) for n in range(all_of_them)[part::parts]] or [block(all_of_them)]  # the last is empty
    rows = {key: np.concatenate([columns[key] for columns in made]) for key in made[0]}
    tag, tags = _spell(rows["tag"], catalogue) if "tag" in rows else (None, None)
    return Interactions(
        user=rows["user"],
        item=rows["item"],
        users=pl.Series(np.arange(1, users + 1)),
        items=_ids(world, items),
        rating=rows.get("rating"),
        time=rows["time"],
        tag=tag,
        tags=tags,
        unit=world.unit,
    ).compact()


def _ids(world: World, items: int) -> pl.Series:
    return pl.Series([f"{world.noun}-{i:0{len(str(items))}d}" for i in range(1, items + 1)])


# --- the catalogue --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shelf:
    """Items arranged by topic; an item is its place in this arrangement until it gets its id."""

    starts: Ints  # where each topic begins
    topic: Ints
    birth: Ints  # epoch; negative for those that were there before
    cumulative: Floats  # of popularity, over items within epochs; a last epoch stands for all time
    habits: Floats  # what usually goes with an item, as quantiles of a topic
    quality: Floats
    factors: Floats
    code: NDArray[np.int32]

    def draw(self, epoch: Ints | int, topic: Ints | None, quantile: Floats) -> Ints:
        """The item at this quantile of popularity, among those of the topic (of all) alive in the epoch."""
        first = np.asarray(epoch) * len(self.topic)
        low, high = (0, len(self.topic)) if topic is None else (self.starts[topic], self.starts[topic + 1])
        bottom, top = self.cumulative[first + low], self.cumulative[first + high]
        mass = np.minimum(bottom + quantile * (top - bottom), np.nextafter(top, 0))
        item: Ints = np.searchsorted(self.cumulative, mass, side="right") - 1 - first
        return item


def _catalogue(items: int, rng: np.random.Generator) -> Shelf:
    topics = max(4, int(np.sqrt(items) / 2))
    starts = np.arange(topics + 1) * items // topics
    topic = np.repeat(np.arange(topics), np.diff(starts))
    birth = rng.integers(-EPOCHS, EPOCHS, items)
    birth[starts[:-1]] = -EPOCHS  # no topic is ever empty
    appeal = rng.normal(0, 1.5, items)
    age = np.arange(EPOCHS)[:, None] - birth
    fashion = np.where(age < 0, 0, 0.2 + 0.8 * np.exp(-np.maximum(age, 0) / 4))
    trend = np.exp(rng.normal(0, 0.4, (2, topics)))
    rise = np.linspace(0, 1, EPOCHS)[:, None]
    popularity = np.exp(appeal) * fashion * (trend[0] * (1 - rise) + trend[1] * rise)[:, topic]
    popularity = np.vstack([popularity, popularity.sum(axis=0)])
    centres = rng.normal(0, 1, (topics, FACTORS))
    return Shelf(
        starts=starts,
        topic=topic,
        birth=birth,
        cumulative=np.concatenate([[0], np.cumsum(popularity)]),
        habits=rng.random((items, HABITS)),
        quality=0.3 * rng.normal(0, 1, items) + 0.2 * appeal,
        factors=0.7 * centres[topic] + 0.7 * rng.normal(0, 1, (items, FACTORS)),
        code=rng.permutation(items).astype(np.int32),
    )


# --- people: one block of each world --------------------------------------------------------------------------


def _films(catalogue: Shelf, rng: np.random.Generator) -> Columns:
    """Profiles of at least ten films, log-normal above; what one likes one sees, and rates higher."""
    length = np.minimum(10 + rng.lognormal(3, 0.9, BLOCK), max(10, len(catalogue.topic) // 4)).astype(np.int64)
    user, item, time, love = _encounters(catalogue, rng, length)
    taste = 0.5 * catalogue.factors[love].mean(axis=1) + 0.5 * rng.normal(0, 1, (BLOCK, FACTORS))
    fit = np.einsum("rf,rf->r", taste[user], catalogue.factors[item]) / np.sqrt(FACTORS)
    mood = 3.2 + rng.normal(0, 0.45, BLOCK)
    score = mood[user] + catalogue.quality[item] + 1.1 * fit + rng.normal(0, 0.7, len(user))
    return {"user": user, "item": item, "time": time, "rating": np.clip(np.rint(score), 1, 5)}


def _sessions(catalogue: Shelf, rng: np.random.Generator) -> Columns:
    """Clicks that follow each other: an item leads to its usual successors, within what the session is about."""
    length = np.minimum(2 + rng.lognormal(1.3, 0.8, BLOCK), 30).astype(np.int64)
    moment = rng.random(BLOCK) * EPOCHS * EPOCH
    epoch = (moment // EPOCH).astype(np.int64)
    about = catalogue.topic[catalogue.draw(epoch[:, None], None, rng.random((BLOCK, 2)))]
    everyone = np.arange(BLOCK)
    clicks = np.empty((BLOCK, length.max()), dtype=np.int64)
    for step in range(clicks.shape[1]):
        topic = about[everyone, (rng.random(BLOCK) < 0.3).astype(np.int64)]
        click = catalogue.draw(epoch, topic, rng.random(BLOCK))
        if step:
            last = clicks[:, step - 1]
            usual = catalogue.habits[last, (HABITS * rng.random(BLOCK) ** 2).astype(np.int64)]
            next_one = catalogue.draw(EPOCHS, topic, usual)
            follow = (rng.random(BLOCK) < 0.75) & (next_one != last) & (catalogue.birth[next_one] <= epoch)
            back = rng.random(BLOCK) < 0.06
            earlier = clicks[everyone, rng.integers(0, step, BLOCK)]
            click = np.where(back, earlier, np.where(follow, next_one, click))
        clicks[:, step] = click
    real = np.arange(clicks.shape[1]) < length[:, None]
    dwell = np.cumsum(1 + rng.exponential(40, clicks.shape), axis=1)
    time = (BEGIN + moment[:, None] + dwell).astype(np.int64)
    return {"user": np.repeat(everyone, length), "item": clicks[real], "time": time[real]}


def _tags(catalogue: Shelf, rng: np.random.Generator) -> Columns:
    """Posts of one to five tags: the artist's usual ones, others of its topic, the user's own, everyone's."""
    length = np.minimum(5 + rng.lognormal(2.7, 0.9, BLOCK), max(5, len(catalogue.topic) // 4)).astype(np.int64)
    user, item, time, _ = _encounters(catalogue, rng, length)
    post = np.repeat(np.arange(len(user)), 1 + np.minimum(rng.poisson(1.5, len(user)), 4))
    n, per_topic = len(post), 1 + len(STYLES)
    usual = catalogue.habits[item[post], (HABITS * rng.random(n) ** 2).astype(np.int64)]
    quantile = np.where(rng.random(n) < 0.7, usual, rng.random(n)) ** 1.5
    of_topic = catalogue.topic[item[post]] * per_topic + (per_topic * quantile).astype(np.int64)
    words = len(catalogue.starts[:-1]) * per_topic
    common = words + (len(COMMON) * rng.random(n) ** 2).astype(np.int64)
    own = rng.integers(0, words + len(COMMON) + NOTES, (BLOCK, HABITS))
    own_one = own[user[post], (HABITS * rng.random(n) ** 5).astype(np.int64)]
    kind = rng.random(n)
    tag = np.where(kind < 0.6, of_topic, np.where(kind < 0.7, common, own_one))
    once = _first(post * (words + len(COMMON) + NOTES) + tag)
    post, tag = post[once], tag[once]
    return {"user": user[post], "item": item[post], "time": time[post], "tag": tag}


def _encounters(catalogue: Shelf, rng: np.random.Generator, length: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Users meet items in bursts over time, mostly of topics they love, each item once: user, item, time; love."""
    joined = rng.random(BLOCK) * EPOCHS * EPOCH
    love = catalogue.draw((joined // EPOCH).astype(np.int64)[:, None], None, rng.random((BLOCK, FAVOURITES)))
    share = np.cumsum(rng.dirichlet(np.ones(FAVOURITES), BLOCK), axis=1)
    tries = 3 * length + 20
    user = np.repeat(np.arange(BLOCK), tries)
    n = len(user)
    gap = np.where(rng.random(n) < 0.1, rng.exponential(20 * 86_400, n), rng.exponential(600, n))
    elapsed = np.cumsum(2 + gap)
    first = np.cumsum(tries) - tries
    moment = joined[user] + elapsed - elapsed[first][user]
    epoch = np.minimum(moment // EPOCH, EPOCHS - 1).astype(np.int64)
    which = (rng.random(n)[:, None] >= share[user, :-1]).sum(axis=1)
    loved = catalogue.draw(epoch, catalogue.topic[love[user, which]], rng.random(n))
    anything = catalogue.draw(epoch, None, rng.random(n))
    item = np.where(rng.random(n) < 0.15, anything, loved)
    new = _first(user * len(catalogue.topic) + item)
    met = np.cumsum(new)
    keep = new & (met - (met - new)[first][user] <= length[user])
    return user[keep], item[keep], (BEGIN + moment[keep]).astype(np.int64), love


def _first(keys: Ints) -> NDArray[np.bool_]:
    """Which keys have not occurred before."""
    mask = np.zeros(len(keys), dtype=bool)
    mask[np.unique(keys, return_index=True)[1]] = True
    return mask


def _spell(tag: Ints, catalogue: Shelf) -> tuple[NDArray[np.int32], pl.Series]:
    """Codes and vocabulary of the tags: words of each topic, words of everyone, notes."""
    words: list[str] = []
    for topic in range(len(catalogue.starts) - 1):
        name = _genre(topic)
        words += [name, *(f"{style} {name}" for style in STYLES)]
    spelt = pl.Series(words + COMMON + [f"note {i:05d}" for i in range(NOTES)])
    order = spelt.arg_sort().to_numpy()
    code = np.empty(len(order), dtype=np.int32)
    code[order] = np.arange(len(order), dtype=np.int32)
    return code[tag], spelt.gather(order)


def _genre(topic: int) -> str:
    wave, genre = divmod(topic, len(genres := GENRES.split()))
    return f"{genres[genre]} {wave + 1}" if wave else genres[genre]


class World(NamedTuple):
    noun: str
    unit: Literal["user", "session"]
    users: int
    items: int
    people: Callable[[Shelf, np.random.Generator], Columns]


WORLDS = {
    "films": World("film", "user", 1000, 600, _films),
    "sessions": World("product", "session", 4000, 800, _sessions),
    "tags": World("artist", "user", 600, 1000, _tags),
}
