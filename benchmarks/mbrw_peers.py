"""What a user might pick instead of mbrw: sdv's PARSynthesizer, on the same few thousand events of a generated shop.

Time to a synthetic data set of the same size, and what it is worth: recall@10 of item-knn trained on it, asked about
the later half of people whom nobody saw. Needs the extra `peers`: pip install 'recveil[peers]'. Its own default is 128
epochs, which take long: `python benchmarks/mbrw_peers.py [EPOCHS]`.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import polars as pl

from recveil.data import Interactions, from_ids
from recveil.evaluation.metrics.ranking import evaluate, relevant
from recveil.evaluation.recommenders.neighbours import ItemKNN
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.evaluation.recommenders.ranker import Ranker
from recveil.mechanisms.spec import parse
from recveil.releases.release import release
from recveil.samples import sample
from recveil.splits import both

USERS = 300


def main() -> None:
    try:
        from sdv.metadata import Metadata
        from sdv.sequential import PARSynthesizer
    except ImportError:
        print("sdv is not installed, so there is no peer to compare with; pip install 'recveil[peers]'")
        sys.exit(0)
    warnings.simplefilter("ignore")
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    data = sample("sessions")
    data = data.take_users(np.arange(min(2 * USERS, data.n_users))).compact()
    train, query, result = both(data, 0.5, 0.5, np.random.default_rng(0))
    wanted = relevant(query, result)

    def recall(made: Interactions, ranker: Ranker) -> float:
        model = ranker.fit(made.over_items(data.items), 0)
        return float(evaluate(model, query, wanted, 10).values["recall"].mean())

    rows = train.compact()
    print(f"{len(rows):,} events of {rows.n_users} people; recall@10 of item-knn trained on")
    print(f"  the real data       {recall(train, ItemKNN()):.3f}   (most-popular {recall(train, MostPopular()):.3f})")

    release(train, parse("mbrw"), seed=1)  # compiles
    begin = time.perf_counter()
    made = release(train, parse("mbrw:hops=empirical"), seed=1).data
    ours = time.perf_counter() - begin
    print(f"  mbrw                {recall(made, ItemKNN()):.3f}   {ours:.2f} s")

    frame = rows.ordered().frame().select(pl.col("user").cast(pl.String), pl.col("item").cast(pl.String)).to_pandas()
    metadata = Metadata.load_from_dict(
        {
            "tables": {
                "clicks": {
                    "columns": {"user": {"sdtype": "id"}, "item": {"sdtype": "categorical"}},
                    "sequence_key": "user",
                }
            }
        }
    )
    begin = time.perf_counter()
    synthesizer = PARSynthesizer(metadata, epochs=epochs, verbose=False)
    synthesizer.fit({"clicks": frame})
    drawn = synthesizer.sample_sequences(num_sequences=rows.n_users)
    drawn = drawn["clicks"] if isinstance(drawn, dict) else drawn
    theirs = time.perf_counter() - begin
    items = pl.Series(drawn["item"].astype(str).tolist()).cast(data.items.dtype)
    peer = from_ids(pl.Series(drawn["user"].astype(str).tolist()), items, time=np.arange(len(drawn)))
    print(f"  sdv PARSynthesizer  {recall(peer, ItemKNN()):.3f}   {theirs:.2f} s, {epochs} epochs")
    print(f"mbrw is {theirs / ours:,.0f}x faster")


if __name__ == "__main__":
    main()
