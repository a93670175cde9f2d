"""What the server gives away in all: public counters and item models are two releases about the same clicks.

docs/guarantees/advisor.md has the sum and its proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import func, select

from recveil.advisor.item_model import ModelBudget
from recveil.advisor.noisy_counters import CounterBudget
from recveil.advisor.schema import models
from recveil.advisor.store import YEAR, now
from recveil.dp.budget import epsilon_of, rho_of, upwards

REPLACED = 2  # times the rho of one person: with and without an item she is two vectors of which no entry is negative


@dataclass(frozen=True)
class TotalBudget:
    """Of one person's clicking one item, in any 365 days."""

    epsilon: float
    delta: float


def total(db: sa.Connection, counters: CounterBudget, models_of_a_year: ModelBudget) -> TotalBudget:
    """Rhos add up; what models have spent before the settings were lowered counts as it was."""
    spent = db.execute(select(func.sum(models.c.rho)).where(models.c.at > now() - YEAR)).scalar_one() or 0.0
    allowed = rho_of(models_of_a_year.epsilon, models_of_a_year.delta)
    rho = rho_of(counters.epsilon, counters.delta) + REPLACED * max(spent, allowed)
    return TotalBudget(upwards(epsilon_of(rho, counters.delta)), counters.delta)
