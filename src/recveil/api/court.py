"""judge: a court of real people, to be asked as often as its budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recveil.api.keywords import keywords_of
from recveil.court import board as boards
from recveil.court.folder import Answer, Court, open_court
from recveil.court.founding import CourtRequest, run_new
from recveil.court.ladder import climb
from recveil.court.references import references
from recveil.court.scoring import compare, enter, entered, score
from recveil.releases.inputs import Input
from recveil.releases.keys import load_key


@dataclass(frozen=True)
class Judge:
    """An open court: `score`, `compare`, `ladder` and `board` as the commands of these names."""

    court: Court

    @property
    def left(self) -> int:
        """How many more answers its budget allows."""
        return self.court.left

    def score(
        self,
        model: Any,
        *,
        name: str | None = None,
        metric: str | Sequence[str] | None = None,
        owner_only: bool = False,
    ) -> list[Answer]:
        """The means of a model (a .parquet or .onnx) over the judged people; of a bundle's folder, reference models."""
        if Path(model).is_dir():
            return score(self.court, references(self.court, model), metric)
        return score(self.court, [enter(self.court, model, name, owner_only)], metric)

    def compare(self, one: Any, other: Any, *, metric: str | None = None) -> Answer:
        """By how much the first is better for the same people; files, or names of what was scored."""
        return compare(self.court, entered(self.court, one), entered(self.court, other), metric)

    def ladder(self, model: Any, *, name: str | None = None) -> bool:
        """Whether a model is better than the best so far by a step."""
        return bool(climb(self.court, enter(self.court, model, name)).better)

    def board(self, out: Any = None, *, key: Any = None) -> dict[str, Any]:
        """What the board says; with `out` (an .html) written, with `key` signed."""
        if out is None:
            return boards.board(self.court)
        made: dict[str, Any] = boards.save_board(self.court, out, load_key(key) if key else None)["board"]
        return made

    def frame(self) -> pl.DataFrame:
        """All answers so far, those for the owner alone too."""
        return pl.DataFrame([vars(a) for a in self.court.answers()])


@keywords_of(CourtRequest)
def judge(
    data: Any, out: Any = None, *, ledger: Any = None, columns: Any = None, schema: Any = None, **wishes: Any
) -> Judge:
    """A court of real people on whom models of others are judged, within a budget.

    data: the folder of a court, to open it; or anything that `read` takes, to make one.
    out: the new folder, for the owner alone; `ledger`: the file of what is spent on these people.
    columns: as for `read`; so is `schema`.
    people: the share set aside; `find`: the last share of what each did; `like`: the rating from which on it counts.
    epsilon: of all answers together, with `delta`; `scores`: how many they are; `metrics`: such as "ndcg@10,recall@20".
    items: a public file of ids; or those of a `bundle`; or those of the data, with `catalogue_is_public`.
    step: of the ladder; `seconds`: after which an answer comes; `each`: for one person.
    seed: makes it an experiment that can be repeated.

    >>> import tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> court = recveil.judge("sample:films?users=400,items=80", place / "court", ledger=place / "ledger.jsonl",
    ...                       catalogue_is_public=True, epsilon=4, seconds=0)
    >>> recveil.judge(place / "court").left == court.left > 0
    True
    """
    if out is None:
        return Judge(open_court(data))
    rows = Input(data, columns, schema=schema)
    return Judge(run_new(CourtRequest(rows, str(out), str(ledger or f"{out}.ledger.jsonl"), **wishes)))
