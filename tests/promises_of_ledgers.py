"""Checks that a ledger keeps what its theorem says. Each raises AssertionError where it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.releases import hash_chain, ledger, release

LINE: dict[str, Any] = {
    "date": "2026-01-01T00:00:00+00:00", "mechanism": "m", "status": "proved", "epsilon": 1.0, "delta": 1e-6,
    "rho": 0.02, "unit": "user", "neighbours": NEIGHBOURS["user"], "rho_fails": 0.0,
}  # fmt: skip


def exact_delta(rho: float, epsilon: float) -> Any:
    """Of a Gaussian shifted by sqrt(2 rho) deviations, with fifty digits."""
    import mpmath as mp

    with mp.workdps(50):
        m = mp.sqrt(2 * mp.mpf(rho))
        tail = lambda x: mp.erfc(x / mp.sqrt(2)) / 2  # noqa: E731
        return tail(epsilon / m - m / 2) - mp.exp(epsilon) * tail(epsilon / m + m / 2)


def worth(epsilon: float) -> float:
    """The rho of the Gaussian that imitates a pure epsilon."""
    from scipy.stats import norm

    return float(2 * norm.isf(1 / (1 + np.exp(epsilon))) ** 2)


def budgets_are_kept(path: Path) -> None:
    """Random plans, a budget each: what was admitted keeps it as the theorem reckons, with more digits."""
    rng = np.random.default_rng(3)
    for number in range(12):
        file = path.with_name(f"{path.name}-{number}")
        most, delta = float(rng.uniform(1, 6)), 1e-5
        ledger.set_budget(file, ledger.Budget(most, delta), {})
        for k in range(12):
            rho, fails = float(rng.uniform(0.01, 0.2)), float(rng.choice([0.0, 0.0, 8e-7]))
            plan = Guarantee("A promise.", "proved", 1.0, 1e-6, "user", NEIGHBOURS["user"], rho=rho, rho_fails=fails)
            if k and rng.random() < 0.3:
                pure = float(rng.uniform(0.1, 0.8))
                plan = Guarantee("A promise.", "proved", pure, 0.0, "user", NEIGHBOURS["user"])
            try:
                ledger.into(file)(Pseudonymise(), plan)
            except RecveilError:
                continue
        group = [e for e in ledger.read(file) if "status" in e]
        assert len(group) >= 1, "the smallest plan is admitted"
        if len(group) > 1:
            total = sum(worth(e["epsilon"]) if e["rho"] is None else e["rho"] for e in group)
            failures = sum(e["rho_fails"] for e in group)
            assert failures <= delta / 2, f"failures add up to {failures}"
            assert exact_delta(total, most) <= delta / 2, f"{len(group)} lines exceed their budget of {most:.2f}"


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The least over many orders, each of which holds (Canonne, Kamath and Steinke 2020, proposition 12)."""
    alpha = 1 + np.logspace(-3, 4, 4000)
    return float((alpha * rho + np.log1p(-1 / alpha) - np.log(delta * alpha) / (alpha - 1)).min())


def pure_lines_keep_their_budget(path: Path) -> None:
    """Where the first line is pure, epsilons add up to the budget, or all lines as zCDP do."""
    rng, summed = np.random.default_rng(5), 0
    for number in range(12):
        file = path.with_name(f"{path.name}-{number}")
        most, delta, few = float(rng.uniform(2, 6)), 1e-5, number % 2
        ledger.set_budget(file, ledger.Budget(most, delta), {})
        for k in range(60):
            plan = Guarantee("A promise.", "proved", 0.6 if few else 0.1, 0.0, "user", NEIGHBOURS["user"])
            if k % 5 == 4:
                plan = Guarantee("A promise.", "proved", 1.0, 1e-6, "user", NEIGHBOURS["user"], rho=0.01)
            try:
                ledger.into(file)(Pseudonymise(), plan)
            except RecveilError:
                continue
        group = [e for e in ledger.read(file) if "status" in e]
        rho = sum(e["epsilon"] ** 2 / 2 if e["rho"] is None else e["rho"] for e in group)
        plain = all(not e["delta"] for e in group) and sum(e["epsilon"] for e in group) <= most * (1 + 1e-9)
        assert plain or zcdp_epsilon(rho, delta / 2) <= most * 1.001, f"{len(group)} lines exceed {most:.2f}"
        summed += not plain
    assert summed > 3, "many small ones are more than their sum allows"


def every_release_is_accounted_for(path: Path) -> None:
    """Whatever its status, it is in a total or among those that promise nothing."""
    for status in ("proved", "claimed", "refuted", "none", "experiment"):
        ledger.append(path, LINE | {"status": status})
    entries = ledger.read(path)
    counted = sum(total.releases for total in ledger.totals(entries)) + ledger.unpromised(entries)
    assert counted == len(entries), f"{counted} of {len(entries)} releases are accounted for"


def a_changed_line_is_found(path: Path) -> None:
    for _ in range(4):
        ledger.append(path, LINE)
    lines = path.read_text().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | {"epsilon": 0.01, "rho": 1e-6})
    path.write_text("\n".join(lines) + "\n")
    assert hash_chain.check(path)[0], "a line that says less than was spent is not found"


def a_cut_end_is_found(path: Path) -> None:
    for _ in range(4):
        ledger.append(path, LINE)
    path.write_text("".join(line + "\n" for line in path.read_text().splitlines()[:-1]))
    assert hash_chain.check(path)[0], "the last line is gone, and nobody sees it"


def it_is_entered_before_any_noise(path: Path) -> None:
    """A release that is refused by its noise has spent as well."""
    rng = np.random.default_rng(1)
    item = np.concatenate([rng.choice(20, 4, replace=False) for _ in range(50)])
    data = from_ids(pl.Series(np.repeat(np.arange(50), 4)), pl.Series(item), time=np.arange(len(item)))
    try:
        release.release(data, DpStreams(epsilon=0.01, delta=1e-6), enter=ledger.into(path))
    except RecveilError:
        assert len(ledger.read(path)) == 1, "it was refused by noisy counts, and nothing stands in the ledger"
        return
    raise AssertionError("so little budget makes no release")
