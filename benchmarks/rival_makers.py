"""Rivals that run where the data are: mechanisms of this project, a Markov chain, and other people's synthesizers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.spec import parse
from recveil.randomness import seeded
from recveil.releases.release import publish, release

if TYPE_CHECKING:
    import pandas as pd

Maker = Callable[[Interactions, int], Interactions]
PEERS = {"sdv": "PAR of SDV", "mostlyai.engine": "the engine of MOSTLY AI"}


def missing(module: str) -> bool:
    try:
        return find_spec(module) is None
    except ModuleNotFoundError:
        return True


LEFT_OUT = [f"{name}: pip install 'recveil[peers]' brings it" for module, name in PEERS.items() if missing(module)]


def others(name: str, epsilons: Sequence[float], delta: float) -> dict[str, Maker]:
    """By what they are called in the table. microaggregation compares everybody with everybody: for Yahoo alone."""
    found: dict[str, Maker] = {"real data": lambda rows, _: rows, "markov": markov}
    for epsilon in epsilons:
        found[f"dp-streams-{epsilon:g}"] = lambda rows, seed, e=epsilon: private(rows, e, delta, seed)
    for spec in ("mbrw", *(("microaggregation:k=5",) if name == "yahoo" else ())):
        found[spec] = lambda rows, seed, s=spec: release(rows, parse(s), seed=seed).data.over_items(rows.items)
    if not missing("sdv") and name == "yahoo":
        found["sdv PAR, 200 people"] = par
    if not missing("mostlyai.engine") and name == "yahoo":
        found["mostly ai"] = mostly
    return found


def private(rows: Interactions, epsilon: float, delta: float, seed: int) -> Interactions:
    """dp-streams with the public catalogue, as many streams as there are people."""
    mechanism = DpStreams(epsilon=epsilon, delta=delta, k=rows.n_users)
    public = PublicInfo(rows.kind, rows.unit, rows.items, None, True)
    rounds = publish(rows, mechanism, public, seeded(seed)).rounds
    return mechanism.draw(rounds, public, seeded(seed).derive("draw")).rows


def markov(rows: Interactions, seed: int) -> Interactions:
    """No privacy: lengths, first items and moves as often as in the data."""
    rng = np.random.default_rng(seed)
    rows = rows.ordered()
    starts = rows.starts()
    sizes = np.diff(starts)
    same = rows.user[1:] == rows.user[:-1]
    order = np.argsort(rows.item[:-1][same], kind="stable")
    before, after = rows.item[:-1][same][order], rows.item[1:][same][order]
    begin = np.searchsorted(before, np.arange(rows.n_items + 1))
    first = rows.item[starts[:-1][sizes > 0]]
    lengths = np.sort(rng.choice(sizes[sizes > 0], size=rows.n_users))[::-1]
    made = np.full((rows.n_users, lengths[0]), -1, dtype=np.int32)
    made[:, 0] = rng.choice(first, size=rows.n_users)
    for place in range(1, lengths[0]):
        going = np.searchsorted(-lengths, -place)  # those whose stream is longer than this
        now = made[:going, place - 1]
        many = begin[now + 1] - begin[now]
        at = begin[now] + (rng.random(going) * many).astype(np.int64)
        made[:going, place] = np.where(many > 0, after[np.minimum(at, len(after) - 1)], rng.choice(first, size=going))
    user, place = np.nonzero(made >= 0)
    names = pl.Series(np.arange(rows.n_users))
    return Interactions(user.astype(np.int32), made[user, place], names, rows.items, time=place)


def par(rows: Interactions, seed: int, people: int = 200, epochs: int = 128) -> Interactions:
    """SDV's PAR on some of the people: its time grows with people times items."""
    from sdv.metadata import Metadata
    from sdv.sequential import PARSynthesizer

    some = rows.take_users(np.random.default_rng(seed).permutation(rows.n_users)[:people])
    frame = text(some)
    columns = {"user": {"sdtype": "id"}, "item": {"sdtype": "categorical"}}
    metadata = Metadata.load_from_dict({"tables": {"clicks": {"columns": columns, "sequence_key": "user"}}})
    synthesizer = PARSynthesizer(metadata, epochs=epochs, verbose=False)
    synthesizer.fit({"clicks": frame})
    drawn = synthesizer.sample_sequences(num_sequences=people)
    return streams(drawn["clicks"] if isinstance(drawn, dict) else drawn, rows.items)


def mostly(rows: Interactions, seed: int, minutes: float = 2) -> Interactions:
    """MOSTLY AI's autoregressive network with its own settings; it ends by itself, or after so many minutes."""
    from mostlyai.engine import TabularARGN

    frame = text(rows)
    everybody = frame[["user"]].drop_duplicates().rename(columns={"user": "id"})
    network = TabularARGN(
        tgt_context_key="user",
        ctx_primary_key="id",
        ctx_data=everybody,
        tgt_encoding_types={"item": "TABULAR_CATEGORICAL"},
        max_training_time=minutes,
        random_state=seed,
    )
    network.fit(frame)
    drawn = network.sample(ctx_data=everybody, rare_category_replacement_method="sample")
    return streams(drawn[drawn["item"].isin(set(frame["item"]))], rows.items)


def text(rows: Interactions) -> pd.DataFrame:
    """user and item as text, in everybody's order: what other people's synthesizers read."""
    return rows.ordered().frame().select(pl.col("user", "item").cast(pl.String)).to_pandas()


def streams(drawn: pd.DataFrame, items: pl.Series) -> Interactions:
    user = np.unique(drawn["user"].astype(str), return_inverse=True)[1].astype(np.int32)
    names = pl.Series(drawn["item"].astype(str).tolist()).cast(items.dtype)
    item = items.search_sorted(names).to_numpy().astype(np.int32)
    return Interactions(user, item, pl.Series(np.arange(user.max() + 1)), items, time=np.arange(len(user)))
