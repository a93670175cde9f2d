"""Global steps that do not fit a driver, as Spark jobs: by the name of the mechanism that needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PLANS: dict[str, Callable[..., Any]] = {}
REWRITES: dict[str, Callable[..., Any]] = {}
