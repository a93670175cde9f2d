"""series: windows of a growing log under one budget, to be released as they end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from recveil.api.keywords import keywords_of
from recveil.governance.trust import read_trust
from recveil.governance.verification import signed_window
from recveil.releases.inputs import as_input
from recveil.releases.keys import load_key
from recveil.series import folder
from recveil.series.erasing import forget
from recveil.series.opening import SeriesRequest, next_period, run_new_series
from recveil.series.releasing import Left, WindowsRequest, run_windows
from recveil.series.showing import shown
from recveil.series.verifying import SeriesVerified, verify_series


@dataclass(frozen=True)
class OpenSeries:
    """An open series: `release`, `show`, `verify`, `forget` and `next` as the commands of these names."""

    path: Path

    def release(self, data: Any, *, until: date | None = None, key: Any = None, **how: Any) -> list[Left]:
        """Every window that has ended and has not left; none where there is nothing to do. how: columns, schema."""
        rows = as_input(data, **how)
        return run_windows(
            WindowsRequest(folder.open_series(self.path), rows, until, None, load_key(key) if key else None)
        )

    def show(self) -> dict[str, Any]:
        """The windows of the period, what is spent and what each kept, and when the next one ends."""
        return shown(folder.open_series(self.path))

    def frame(self) -> pl.DataFrame:
        """The windows of the period as a table."""
        return pl.DataFrame(self.show()["windows"])

    def verify(self, trust: Any = None) -> SeriesVerified:
        """All windows that left: their files, their claims, and what they promise together. trust: a trust file."""
        return verify_series(self.path, signed_window(None if trust is None else read_trust(str(trust))))

    def forget(self, *users: object) -> None:
        """Erase people who left from the private state."""
        forget(folder.open_series(self.path), users)

    def next(self, **changed: Any) -> OpenSeries:
        """Open the next period, with another epsilon, delta or participations if they are given."""
        return OpenSeries(next_period(self.path, **changed).path)


@keywords_of(SeriesRequest, without=("out",))
def open_series(path: Any, mechanism: str | None = None, **wishes: Any) -> OpenSeries:
    """A series of releases of a growing log under one budget.

    path: its folder; `mechanism`: for a new one, a spec without epsilon and delta, such as "dp-streams".
    epsilon: with `delta` of a whole `period`, for one `unit`: a user, or a session; entered in `ledger`.
    participations: in how many windows of a period a person counts at most; `window`: day, week, month.
    start: the first day; `late`: whether late events drop or count in the open window.
    items: the public file, with `catalogue_is_public` and `publish_titles` as for `release`; `carry`: over windows.
    seed: makes it an experiment that can be repeated.

    >>> import datetime, pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> made = recveil.open_series(place / "shop.series", "dp-streams", ledger=place / "people.jsonl", epsilon=4,
    ...                            delta=1e-6, participations=26, start=datetime.date(2026, 1, 5))
    >>> made.show()["windows"][51]["end"]
    '2027-01-04'
    """
    if mechanism is not None:
        settled: dict[str, Any] = {name: str(v) if isinstance(v, Path) else v for name, v in wishes.items()}
        run_new_series(SeriesRequest(str(path), mechanism, **settled))
    return OpenSeries(folder.open_series(path).path)
