"""The choice of p: how well bits are protected, P(P), against how far similarities move, MAE(P).

The paper takes the p that maximises P(P) / MAE(P) over simulations on subsamples. They need the true data, so they run
where the data are, and the p that comes out depends on them. The peak is flat: look at the plateau, not the third
digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.randomness import Source, source
from recveil.views.bits import Columns, columns
from recveil.views.supports import check_p, single_support

GRID = tuple(np.round(np.concatenate([np.arange(0.55, 0.85, 0.05), np.arange(0.85, 0.9951, 0.002)]), 4).tolist())


def protection(p: ArrayLike, a: float) -> NDArray[np.float64]:
    """P(P) of eqs. 2 to 5 for a share a of ones: 100 times the chance that a bit is not rebuilt from its perturbed one.

    Its largest value, at p = 0.5, is 200 a (1 - a), not 100: rare ones are guessed to be zeros without any data.
    """
    p = np.asarray(p, dtype=np.float64)
    q = 1 - p
    one, zero = a * p + (1 - a) * q, a * q + (1 - a) * p  # the chance to see a one, a zero
    r1 = a * p**2 / one + a * q**2 / zero
    r0 = (1 - a) * p**2 / zero + (1 - a) * q**2 / one
    return np.asarray(100 * (1 - a * r1 - (1 - a) * r0))


@dataclass(frozen=True)
class Choice:
    """The chosen p, the span of p whose ratio is within 1% of the best, and the curve (means over repetitions)."""

    p: float
    plateau: tuple[float, float]
    grid: tuple[float, ...]
    ratio: tuple[float, ...]
    protection: tuple[float, ...]
    error: tuple[float, ...]
    repeats: int
    users: int  # in a subsample
    items: int
    density: float

    @property
    def at_edge(self) -> bool:
        """Whether the best p is the first or last one tried, so that the true optimum may lie beyond."""
        return self.p in (min(self.grid), max(self.grid))

    def record(self) -> dict[str, Any]:
        curve = [
            {"p": p, "ratio": r, "protection": v, "error": e}
            for p, r, v, e in zip(self.grid, self.ratio, self.protection, self.error, strict=True)
        ]
        sample = {"users": self.users, "items": self.items, "density": self.density, "repeats": self.repeats}
        return {"p": self.p, "plateau": list(self.plateau), "at_edge": self.at_edge, "sample": sample, "curve": curve}


def choose_p(
    data: Interactions,
    *,
    users: int = 8000,
    items: int = 4000,
    repeats: int | None = None,
    grid: Sequence[float] = GRID,
    reconstructed: bool = False,
    chance: Source | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,  # noqa: ARG005
) -> Choice:
    """The p that maximises P(P) / MAE(P), by simulation on random subsamples of at most `users` x `items`.

    The best p moves with the size of the subsample, so data that fit are taken whole (4 repetitions, otherwise 10).
    `reconstructed`: compare similarities after reconstruction of the supports instead of raw ones. `progress` is told
    of grid points done, and of how many. Without `chance` the simulation draws from the operating system.
    """
    grid = tuple(sorted({check_p(p) for p in grid}))
    if not grid or grid[-1] == 1:
        raise RecveilError("the grid of p needs values inside (0.5, 1)")
    chance = chance or source(None)
    people = np.flatnonzero(np.bincount(data.user, minlength=data.n_users))
    whole = len(people) <= users and data.n_items <= items
    repeats = repeats or (4 if whole else 10)
    curves = np.zeros((3, len(grid)))
    n, m, density = 0, 0, 0.0
    for repeat in range(repeats):
        draw = chance.derive("repeat", repeat)
        sample = data if whole else _subsample(data, people, users, items, draw.derive("sample").generator())
        true = columns(sample.compact())
        if true.n_items < 2:
            raise RecveilError("the choice of p compares pairs of items, and the data have fewer than two items")
        n, m = max(n, true.n_users), max(m, true.n_items)
        density += float(true.singles.sum()) / (true.n_users * true.n_items) / repeats
        so_far = repeat * len(grid)
        with _few_threads(true):
            curves += _curve(true, grid, reconstructed, draw, partial(_told, progress, so_far, repeats * len(grid)))
    ratio, shield, error = curves / repeats
    best = int(np.argmax(ratio))
    if not ratio[best] > 1e-9:  # of a profile that is full nothing is hidden
        raise RecveilError("p cannot be chosen where everybody has the same items; name one, as in mask:p=0.9")
    near = np.flatnonzero(ratio >= 0.99 * ratio[best])
    return Choice(
        grid[best],
        (grid[near[0]], grid[near[-1]]),
        grid,
        tuple(ratio.tolist()),
        tuple(shield.tolist()),
        tuple(error.tolist()),
        repeats,
        n,
        m,
        density,
    )


def best_p(data: Interactions, chance: Source) -> float:
    """The p of choose_p, or one that is as good: every fifth point of the fine grid, then all of those beside the best.

    Both looks draw the same flips, since both grids begin at the same p.
    """
    fine = next(at for at, p in enumerate(GRID) if p >= 0.85)
    wide = choose_p(data, grid=GRID[:fine] + GRID[fine::5], chance=chance).p
    at = GRID.index(wide)
    return choose_p(data, grid=GRID[:1] + GRID[max(at - 4, 1) : at + 5], chance=chance).p


@contextmanager
def _few_threads(sample: Columns) -> Iterator[None]:
    """One thread for small samples, where waking the others takes longer than the work."""
    import numba

    before = numba.get_num_threads()
    try:
        if sample.bits.size * sample.n_items < 1 << 26:
            numba.set_num_threads(1)
        yield
    finally:
        numba.set_num_threads(before)


def _told(progress: Callable[[int, int], None], before: int, of: int, done: int) -> None:
    progress(before + done, of)


def _subsample(
    data: Interactions, people: NDArray[np.int64], users: int, items: int, rng: np.random.Generator
) -> Interactions:
    wanted = np.zeros(data.n_items, dtype=bool)
    wanted[rng.choice(data.n_items, size=min(items, data.n_items), replace=False)] = True
    some = data.take_users(rng.choice(people, size=min(users, len(people)), replace=False))
    return some.take(wanted[some.item])


def _curve(
    true: Columns, grid: tuple[float, ...], reconstructed: bool, chance: Source, done: Callable[[int], None]
) -> NDArray[np.float64]:
    """Ratio, P and MAE over the grid. The same flips serve all of it: those of a larger p are among those of a smaller
    one, which cancels most of the noise between neighbouring p."""
    from recveil.kernels.bits import toggle
    from recveil.kernels.chacha import stream
    from recveil.kernels.flips import flip_cells, skip_table

    n, m = true.n_users, true.n_items
    most = round((1 - grid[0]) * 2**32)
    expected = int(n * m * (1 - grid[0]))
    cells = flip_cells(n * m, *skip_table(most), stream(chance.key(), 1), expected + 5 * int(expected**0.5) + 16)
    level = chance.derive("level").generator().random(len(cells)) * (1 - grid[0])
    turn = np.searchsorted([1 - p for p in reversed(grid)], level, side="right")  # 0: flipped at every p of the grid
    order = np.argsort(turn, kind="stable")
    cells, ends = cells[order], np.cumsum(np.bincount(turn, minlength=len(grid)))
    pairs, bits, at = true.pairs(), true.bits.copy(), 0
    density = float(true.singles.sum()) / (n * m)
    errors = np.zeros(len(grid))
    for step, p in enumerate(reversed(grid)):
        toggle(bits, cells[at : ends[step]], n)
        at = ends[step]
        seen = Columns(bits, n, true.items)
        errors[len(grid) - 1 - step] = _error(pairs, true.singles, seen, p if reconstructed else 1.0)
        done(step + 1)
    shield = protection(np.array(grid), density)
    ratio = np.divide(shield, errors, out=np.zeros_like(shield), where=errors > 0)
    return np.array([ratio, shield, errors])


def _error(pairs: NDArray[np.int32], singles: NDArray[np.int64], seen: Columns, p: float) -> float:
    from recveil.kernels.item_cosines import cosine_error
    from recveil.kernels.popcount import pair_counts

    counts = pair_counts(seen.bits)
    after = np.clip(single_support(np.diag(counts)[: seen.n_items], seen.n_users, p), 0, seen.n_users)
    return float(cosine_error(pairs, counts, len(singles), seen.n_users, p, singles.astype(np.float64), after))
