"""laplace-ratings: Laplace noise on every rating. A yardstick of the literature, not a proved mechanism."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recveil.data import Interactions
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo, Within, parameter
from recveil.mechanisms.random_ratings import Histogram
from recveil.randomness import Source


@dataclass(frozen=True)
class LaplaceRatings(Masking):
    """Each rating plus Laplace noise of scale (range / eps), at the nearest value that occurs in the data."""

    name = "laplace-ratings"
    purpose = "A baseline: noise on the values alone; who rated what stays readable."
    needs = ("rating",)

    eps: float = parameter(1.0, about="the noise level: its scale is the range of the ratings over eps",
                           rule=Within(0, open_low=True))  # fmt: skip
    outside: str = parameter(
        "drop", about="noisy ratings beyond the ends of the scale: drop the row, or clamp", rule=("drop", "clamp")
    )

    def guarantee(self, public: PublicInfo) -> Guarantee:
        seen = "a row that is there says who rated what" if self.outside == "drop" else "who rated what is unchanged"
        return nothing(
            f"Laplace noise at level eps = {self.eps:g} on the values, not differential privacy: {seen}, "
            "a person has many ratings, the ends of the scale are taken from the data, and the noise is drawn in "
            "floating point, whose gaps can betray what it hides."
        )

    def card(self) -> str:
        ends = (
            "rows whose noisy rating fell off the scale were left out"
            if self.outside == "drop"
            else "what fell off the scale was set to its end"
        )
        return (
            f"Laplace noise (scale: the range of the ratings divided by {self.eps:g}) was added to every rating, and "
            f"the result rounded to the nearest value of the scale; {ends}. A row that is there says that the person "
            "rated the item, so she can be found by the items that she is known to have rated."
        )

    def count(self, chunk: Interactions) -> Histogram:
        assert chunk.rating is not None
        return Histogram(*np.unique(chunk.rating, return_counts=True))

    def mask(self, chunk: Interactions, plan: Histogram, source: Source) -> Masked:
        from recveil.kernels.draws import laplace_per_group

        assert chunk.rating is not None
        values = plan.values
        noise = laplace_per_group(chunk.starts("user"), chunk.keys("user"), source.derive("rating").key())
        noisy = chunk.rating + noise * (values[-1] - values[0]) / self.eps
        rating = values[np.searchsorted((values[1:] + values[:-1]) / 2, noisy, side="right")]
        rows = replace(chunk, rating=rating)
        if self.outside == "drop":
            half = np.diff(values).min(initial=np.inf) / 2
            inside = (noisy >= values[0] - half) & (noisy < values[-1] + half)
            rows = rows.take(inside)
        return Masked(rows, chunk.users, {"rows left out": len(chunk) - len(rows)})
