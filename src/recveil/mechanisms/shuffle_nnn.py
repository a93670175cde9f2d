"""shuffle-nnn: the ratings of every item that is nobody's near neighbour are permuted among its raters.

Slokom, Larson and Hanjalic, "Data Masking for Recommender Systems: Prediction Performance and Rating Hiding" (RecSys
2019, late-breaking results). The paper leaves the similarity and the direction of the shuffle open;
docs/explanation/shuffle_nnn.md says how these readings were chosen and what of the paper they reproduce.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from recveil.data import Floats, Interactions
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo, Rows, Within, parameter
from recveil.randomness import Source

SHUFFLED = (0.02, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)  # of the ratings, on the rungs of a search for theta


@dataclass(frozen=True)
class ShuffleNNN(Masking):
    """Items among the k nearest of another, at a similarity of at least theta, are critical: they stay as they are."""

    name = "shuffle-nnn"
    purpose = (
        "For choosing between rating algorithms: values are shuffled outside the critical items, so that the "
        "ranking of algorithms tends to survive. Who rated what is not hidden."
    )
    needs = ("rating",)
    by = "item"
    keeps = ("agreement",)
    tuned_by = "rungs"
    cluster_steps = "critical items"

    theta: float = parameter(
        0.4, about="how similar a neighbour must be to count; the lower, the fewer ratings change", rule=Within(-1, 1)
    )
    k: int = parameter(40, about="size of a neighbourhood", rule=Within(1))
    similarity: str = parameter(
        "item-centred",
        about="cosine of ratings less the item's mean, less the user's mean (adjusted), as they are, or of who rated",
        rule=("item-centred", "adjusted", "cosine", "binary"),
    )

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return nothing(
            "Which items a person rated is unchanged, and that alone is enough to find most people whose items are "
            "known in part; how many ratings changed is a measurement, not a promise."
        )

    def card(self) -> str:
        return (
            f"Items that stand among the {self.k} nearest neighbours of another item with a similarity "
            f"({self.similarity}) of at least {self.theta:g} kept their ratings exactly. The ratings of every other "
            "item were permuted at random among the people who rated it.\n\n"
            "What stays: who rated what, how often and how highly each item was rated, every single value, and the "
            "true ratings of the critical items. Means and deviations per item and of all ratings are those of the "
            "original; means per person are not.\n\n"
            "What an attacker still learns: whoever knows a few items of a person can find her record by them, and "
            "read there everything else that she rated. A rating of a popular item that everybody likes is guessed "
            "well from the item alone, shuffled or not, and a shuffled rating may be the true one by chance. Which "
            "items are critical is not published, and need not be: whoever repeats the choice on the release finds "
            "nearly all of them (of MovieLens 100K every one, and 6 others in 100), because the critical items still "
            "resemble each other and the shuffled ones no longer do. So an attacker knows which ratings are true, and "
            "they make a record easier to find than items alone. Items with one rater, and items that all rated "
            "alike, hide nothing.\n\n"
            "If theta was chosen by trying it on these data (recveil tune), the choice tells a little about them "
            "too. No budget counts that."
        )

    def check_fit(self, data: Interactions) -> None:
        super().check_fit(data)
        assert data.rating is not None
        if len(data) and not np.all(np.isfinite(data.rating)):
            raise RecveilError(f"{self.name} needs a number in every rating, and some are missing or infinite")
        users, items = (int(np.count_nonzero(np.bincount(codes))) for codes in (data.user, data.item))
        if users == 1:
            raise RecveilError(f"{self.name} permutes ratings between people, and the data have one person only")
        if self.k >= items:
            raise RecveilError(
                f"{self.name}: k must be less than the number of items that were rated ({items}), not {self.k}"
            )
        if len(data) and data.rating.min() == data.rating.max():
            raise RecveilError(f"{self.name} has nothing to shuffle: every rating is {data.rating[0]:g}")

    def rungs(self, data: Interactions) -> tuple[ShuffleNNN, ...]:
        """From the weakest to the strongest: the lowest thetas, in hundredths, that shuffle each of these shares."""
        self.check_fit(data)
        reach = reaches(data, self.k, self.similarity)[data.item]
        grid = np.arange(-100, 101) / 100
        shuffled = np.searchsorted(np.sort(reach), grid) / len(data)
        thetas = {float(grid[np.argmax(shuffled >= share)]) for share in SHUFFLED if share <= shuffled[-1]}
        return tuple(replace(self, theta=theta) for theta in sorted(thetas | {1.0}))

    def trusted(self, data: Interactions) -> pl.Series:
        """The items whose ratings it leaves alone, which an attacker may trust."""
        return critical(data, self)

    def count(self, chunk: Interactions) -> Rows:
        """Ratings. Statistics of item pairs would be mergeable too, and as many as profile lengths have squares."""
        return Rows((replace(chunk, time=None),))

    def plan(self, counts: Rows, source: Source) -> pl.Series:
        """The ids of the critical items."""
        return critical(counts.whole(), self)

    def mask(self, chunk: Interactions, plan: pl.Series, source: Source) -> Masked:
        from recveil.kernels.shuffles import shuffle_per_group

        assert chunk.rating is not None
        critical = chunk.items.is_in(plan.implode()).to_numpy()
        starts = chunk.starts("item")
        key = source.derive("rating").key()
        rating = shuffle_per_group(starts, chunk.keys("item"), chunk.rating, critical, key)
        rated = np.diff(starts) > 0
        notes = {"critical items": int(np.sum(rated & critical)), "shuffled items": int(np.sum(rated & ~critical))}
        return Masked(replace(chunk, rating=rating), chunk.users, notes)


def critical(rows: Interactions, mechanism: ShuffleNNN) -> pl.Series:
    """The ids of the items that keep their ratings. Not for publication: it makes records easier to find."""
    theta = mechanism.theta
    return rows.items.filter(pl.Series(reaches(rows, mechanism.k, mechanism.similarity, theta) >= theta))


def reaches(rows: Interactions, k: int, similarity: str, floor: float = -1.0) -> Floats:
    """For each item the highest theta at which it is critical; -inf where that is below `floor`, or never."""
    from recveil.kernels.neighbourhoods import reach

    rows = cells(rows, similarity)
    starts = np.zeros(rows.n_users + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows.user, minlength=rows.n_users), out=starts[1:])
    return reach(rows.starts("item"), rows.user, columns(rows, similarity), starts, k, floor)


def cells(rows: Interactions, similarity: str) -> Interactions:
    """One row for each person and item, by item; of repeats the last counts. Adjusted: less the person's mean."""
    rows = rows.grouped("item")
    repeated = (rows.item[1:] == rows.item[:-1]) & (rows.user[1:] == rows.user[:-1])
    if np.any(repeated):
        rows = rows.take(np.append(~repeated, True))
    if similarity != "adjusted" or rows.rating is None:
        return rows
    means = np.bincount(rows.user, rows.rating) / np.maximum(np.bincount(rows.user), 1)
    return replace(rows, rating=rows.rating - means[rows.user])


def columns(rows: Interactions, similarity: str) -> Floats:
    """The value of each cell in its item's column of length 1, so that scalar products are similarities."""
    from recveil.kernels.neighbourhoods import directions

    values = np.ones(len(rows)) if similarity == "binary" or rows.rating is None else rows.rating
    found: Floats = directions(rows.starts("item"), values, similarity == "item-centred")
    return found
