"""Logistic regression by L-BFGS, on dense or sparse features: what attackers learn with, and owners who blur."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Logistic(NamedTuple):
    """Weights of the features, and the intercept."""

    weights: Floats
    intercept: float

    def score(self, features: Any) -> Floats:
        """The logit of each row."""
        return np.asarray(features @ self.weights) + self.intercept


def fit(features: Any, labels: NDArray[np.bool_], penalty: float) -> Logistic:
    """Weights that maximise the likelihood, less penalty / 2 times their squares; the intercept goes free."""
    from scipy.optimize import minimize
    from scipy.special import expit

    sign = np.where(labels, 1.0, -1.0)

    def loss(at: Floats) -> tuple[float, Floats]:
        margin = sign * (features @ at[:-1] + at[-1])
        pull = -sign * expit(-margin)
        value = np.logaddexp(0.0, -margin).sum() + penalty / 2 * (at[:-1] ** 2).sum()
        return float(value), np.append(features.T @ pull + penalty * at[:-1], pull.sum())

    start = np.zeros(features.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-6})
    return Logistic(found.x[:-1], float(found.x[-1]))
