"""recveil: the release desk for recommender data."""

from __future__ import annotations

__version__ = "0.1.0"
