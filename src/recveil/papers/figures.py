"""The figures of a reproduction, drawn with altair as png; nothing is drawn where no folder is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Floats
from recveil.evaluation.recommenders.ranker import extra


@dataclass(frozen=True)
class Figures:
    folder: Path | None

    def lines(
        self, name: str, curves: Mapping[str, Floats], x: str, y: str, over: Sequence[float] | None = None
    ) -> None:
        """Curves over these values of x, without them over 0, 1, 2, ..."""
        if self.folder is None:
            return
        rows = [
            (curve, float(at), float(v))
            for curve, values in curves.items()
            for at, v in zip(range(len(values)) if over is None else over, values, strict=True)
        ]
        chart = extra("altair").Chart(pl.DataFrame(rows, schema=["curve", "x", "y"], orient="row"))
        self._save(name, chart.mark_line(point=over is not None), x, y, color=_legend("curve"))

    def histogram(self, name: str, values: Mapping[str, Floats], x: str, classes: int = 25) -> None:
        """How often values fall into each of so many equal classes, as shares, one line a sample."""
        if self.folder is None:
            return
        pooled = np.concatenate(list(values.values()))
        edges = np.histogram_bin_edges(pooled, classes)
        rows = [
            (sample, float(edge), float(n) / len(each))
            for sample, each in values.items()
            for edge, n in zip(edges, np.histogram(each, edges)[0], strict=False)
        ]
        chart = extra("altair").Chart(pl.DataFrame(rows, schema=["sample", "x", "y"], orient="row"))
        self._save(name, chart.mark_line(interpolate="step-after"), x, "share", color=_legend("sample"))

    def grid(self, name: str, values: Floats, what: str) -> None:
        """[m, l] as colours."""
        if self.folder is None:
            return
        rows = [(m, hops, float(v)) for m, row in enumerate(values) for hops, v in enumerate(row)]
        chart = extra("altair").Chart(pl.DataFrame(rows, schema=["m", "l", "v"], orient="row"))
        alt = extra("altair")
        self._save(
            name,
            chart.mark_rect(),
            "hops l",
            "memory m",
            fields=("l:O", "m:O"),
            color=alt.Color("v:Q", title=what, scale=alt.Scale(scheme="viridis")),
        )

    def chart(self, name: str, chart: Any) -> None:
        """One that was made elsewhere."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            chart.save(str(self.folder / f"{name}.png"), scale_factor=2)

    def _save(
        self, name: str, chart: Any, x: str, y: str, color: Any, fields: tuple[str, str] = ("x:Q", "y:Q")
    ) -> None:
        alt = extra("altair")
        drawn = chart.encode(x=alt.X(fields[0], title=x), y=alt.Y(fields[1], title=y), color=color)
        self.chart(name, drawn.properties(width=480, height=320, title=name))


def _legend(field: str) -> Any:
    alt = extra("altair")
    return alt.Color(f"{field}:N", title=None, legend=alt.Legend(labelLimit=0))
