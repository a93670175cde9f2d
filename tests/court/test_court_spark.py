"""Who is set aside is in no release of a cluster either: the same people as locally."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from courts import court, log

from recveil.releases.bundle import load

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def test_those_set_aside_are_left_out_on_spark_too(recveil: Callable[..., Any], tmp_path: Path) -> None:
    frame = log(90)
    court(tmp_path, frame, people=0.3)
    frame.with_columns(pl.col("user").cast(pl.String)).write_parquet("data.parquet")
    command = ["release", "data.parquet", "--with", "pseudonymise", "--seed", "3", "--ledger", "ledger.jsonl", "-o"]
    recveil(*command, "here")
    recveil(*command, f"file://{tmp_path}/there", "--engine", "spark")
    here, there = (load(name).data.canonical() for name in ("here", "there"))
    assert here.equals(there)
    assert 45 < here.n_users < 80
