"""make ledger: what `recveil reproduce` finds, into docs/kept/claims. Papers whose data sets are missing are named.

Parts that were finished before are not made again. With --finished only these are kept, and the others are named in the
file as not run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from making.kept import KEPT
from recveil.errors import RecveilError
from recveil.evaluation.cache import user_cache
from recveil.papers.claim import Claim
from recveil.papers.datasets import DATASETS
from recveil.papers.papers import PAPERS, record
from recveil.papers.parts import Kept, Part, kept, quiet


@dataclass(frozen=True)
class Finished(Kept):
    """Knows the parts that were finished, and notes those that were not instead of making them."""

    missing: list[str] = field(default_factory=list)

    def get(self, part: Part) -> list[Claim]:
        found = super().get(part)
        if found is None:
            self.missing.append(part.name.partition(" Size(")[0])
        return found or []

    def put(self, part: Part, claims: Sequence[Claim]) -> None:
        """Nothing new is made."""


def claims_of(paper: str, folder: Path, finished: bool) -> dict[str, Any]:
    """The document of a paper, as `recveil reproduce -o` writes it, with the day and what was not run."""
    from recveil.papers.papers import reproduce

    missing: list[str] = []
    if finished:
        chosen = PAPERS[paper]
        files = [path for d in (*chosen.needs, *chosen.may) for path in DATASETS[d].paths(folder)]
        known = kept(user_cache(), paper, files)
        found = chosen.claims(folder, quiet, None, Finished(known.cache, known.key, missing))
    else:
        found = reproduce(paper, folder, cache=user_cache())
    return record(paper, found) | {"made": datetime.now(UTC).date().isoformat(), "not_run": missing}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"some of {', '.join(PAPERS)}; else all")
    parser.add_argument("--data", default=os.environ.get("RECVEIL_DATA"), help="the folder of data sets")
    parser.add_argument("--finished", action="store_true", help="only what is finished already")
    parser.add_argument("--kept", type=Path, default=KEPT / "claims", help="where the JSON goes")
    asked = parser.parse_args(arguments)
    if not asked.data:
        print("the ledger needs the data sets: give their folder with --data DIR, or in RECVEIL_DATA", file=sys.stderr)
        return 1
    asked.kept.mkdir(parents=True, exist_ok=True)
    for paper in asked.papers or PAPERS:
        try:
            document = claims_of(paper, Path(asked.data), asked.finished)
        except RecveilError as reason:
            print(f"{paper}: left out. {reason}", flush=True)
            continue
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        (asked.kept / f"{paper}.json").write_text(text, encoding="utf-8")
        print(f"{paper}: {len(document['claims'])} claims", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
