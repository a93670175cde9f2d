"""De-noising: what is there is found, what is not is not invented, and known structure helps."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from recveil.dp import denoise
from recveil.kernels.mixtures import LEAST, mixture_weights


def table(m: int, groups: int, strength: float, sigma: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Expected counts of pairs, much larger within groups of items, and the same with noise."""
    rng = np.random.default_rng(seed)
    q = rng.gamma(1.0, 1.0, m) / np.sqrt(m)
    same = (np.arange(m) % groups)[:, None] == np.arange(m) % groups
    truth = np.outer(q, q) + strength * same
    np.fill_diagonal(truth, 0)
    noise = np.triu(rng.normal(size=(m, m)) * sigma, 1)
    return truth, truth + noise + noise.T


def error(found: np.ndarray, truth: np.ndarray) -> float:
    return float(((found - truth) ** 2).mean())


@pytest.mark.parametrize("most", [2048, 100])
def test_structure_comes_out_of_the_noise(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(denoise, "_LARGEST", most)
    truth, noisy = table(300, 40, 3.0, 1.0)
    found = denoise.pairs(noisy, 1.0)
    assert np.array_equal(found, found.T) and (found >= 0).all()
    assert error(found, truth) < 0.25 * error(noisy, truth)


def test_nothing_is_invented() -> None:
    truth, noisy = table(200, 1, 0.0, 1.0)
    found = denoise.pairs(noisy, 1.0)
    assert error(found, truth) < 0.02


def test_vectors_say_where_to_look() -> None:
    """Directions that are sought among the few that features have stand out of less noise."""
    rng, m, sigma = np.random.default_rng(1), 300, 2.5
    q, kind = rng.gamma(4.0, 0.25, m), np.eye(6)[np.arange(m) % 6]
    truth = np.outer(q, q) * (1 + 1.5 * (kind @ kind.T - 1 / 6))
    np.fill_diagonal(truth, 0)
    noise = np.triu(rng.normal(size=(m, m)) * sigma, 1)
    noisy = truth + noise + noise.T
    plain, told, misled = (denoise.pairs(noisy, sigma, v) for v in (None, kind, rng.permutation(kind)))
    assert error(told, truth) < 0.6 * error(plain, truth)
    assert error(misled, truth) < 1.1 * error(plain, truth)
    truth, noisy = table(200, 1, 0.0, 1.0)
    assert error(denoise.pairs(noisy, 1.0, np.eye(5)[np.arange(200) % 5]), truth) < 0.02, "nothing is invented"


def test_common_neighbours_tell_pairs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """With them a table of many small groups is found better than by the size of each count alone."""
    monkeypatch.setattr(denoise, "_LARGEST", 100)
    truth, noisy = table(400, 60, 3.0, 1.0)
    found = denoise.pairs(noisy, 1.0)
    with monkeypatch.context() as without:
        without.setattr(denoise, "common_neighbours", lambda M, prior, sigma: np.zeros(M.shape, np.float32))  # noqa: ARG005
        plain = denoise.pairs(noisy, 1.0)
    assert error(found, truth) < 0.8 * error(plain, truth)


def test_common_neighbours_equal_their_definition() -> None:
    rng = np.random.default_rng(2)
    M = np.triu(rng.random((9, 9)) * 3, 1)
    M += M.T
    norm = np.sqrt(M.sum(1))
    E = np.where(M > denoise._NEAR, M / norm / norm[:, None], 0.0)
    expected = [[sum(E[i, k] * E[k, j] for k in range(9)) for j in range(9)] for i in range(9)]
    assert np.allclose(denoise.common_neighbours(M, np.zeros((9, 9)), 1.0), expected, atol=1e-6)


def test_hidden_cells_count() -> None:
    """Values above a cut shrink as they would in the whole table."""
    rng = np.random.default_rng(3)
    truth = np.where(rng.random(200_000) < 0.02, rng.normal(size=200_000) * 6, 0.0)
    noisy = truth + rng.normal(size=200_000)
    cut = 2.5
    seen = noisy[noisy > cut]
    whole = denoise.shrink(noisy, np.zeros(len(noisy), np.int64), 1.0)[noisy > cut]
    found = denoise.above(seen, 1.0, cut, len(noisy) - len(seen))
    assert np.abs(found - whole).max() < 0.35
    ignorant = denoise.above(seen, 1.0, cut, 0)
    assert ((found - truth[noisy > cut]) ** 2).mean() < ((ignorant - truth[noisy > cut]) ** 2).mean()


@pytest.mark.kernel
def test_weights_of_a_mixture_equal_their_twin() -> None:
    rng = np.random.default_rng(0)
    likelihood, counts, start = rng.random((6, 4)), np.array([3, 0, 10, 1, 0, 7]), np.full(4, 0.25)
    found = mixture_weights(likelihood, counts, start, 25)
    twin = naive.mixture_weights(likelihood.tolist(), counts.tolist(), start.tolist(), 25, LEAST)
    assert found == pytest.approx(twin) and found.sum() == pytest.approx(1.0)
    assert np.all(start == 0.25)
