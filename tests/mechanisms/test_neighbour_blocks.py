"""Blocks of item pairs, as a cluster computes them: the kernels against their twins."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from recveil.kernels.neighbourhoods import add_products, block_nearest


@pytest.mark.kernel
@pytest.mark.parametrize("right", [0, 5])
@pytest.mark.parametrize("floor", [-1.0, 0.2])
def test_blocks_agree_with_their_twins(right: int, floor: float) -> None:
    rng = np.random.default_rng(right)
    wide = 5 + right
    dense = rng.integers(-2, 3, (9, wide)) / 4 * (rng.random((9, wide)) < 0.6)
    user, item = np.nonzero(dense)
    starts = np.searchsorted(user, np.arange(10))
    total = np.zeros((5, 5))
    half = int(starts[4])  # in two pieces, as rows stream by
    add_products(starts[:5], item[:half].astype(np.int32), dense[user, item][:half], right, total)
    add_products(starts[4:] - half, item[half:].astype(np.int32), dense[user, item][half:], right, total)
    cells = [[(int(i), float(row[i])) for i in np.flatnonzero(row)] for row in dense]
    assert total.tolist() == naive.add_products(cells, right, 5)
    for k in (1, 2, 5):
        near, nearness, size = block_nearest(total, floor, right == 0, k)
        found = [
            list(zip(a[:n].tolist(), b[:n].tolist(), strict=True)) for a, b, n in zip(near, nearness, size, strict=True)
        ]
        assert found == naive.block_nearest(total.tolist(), floor, right == 0, k)
