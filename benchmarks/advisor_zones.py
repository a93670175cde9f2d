"""How often noise in the advisor's public counters turns a zone, and how often that is told.

python benchmarks/advisor_zones.py sample:films
python benchmarks/advisor_zones.py RATINGS [LIKE [YEARS]]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from zones import drawn

import recveil
from recveil.clicks.profiles import clicks

DRAWINGS = 10


def main(data: str, like: float | None, years: int) -> None:
    log = clicks(recveil.read(data).compact(), like)
    found = 100 * np.array([drawn(log, 100 * seed, years=years) for seed in range(DRAWINGS)])
    names = ("shown in a wrong zone", "told without near the border", "of these wrong")
    print(f"{data}: {log.users:,} people, {len(log.data.items):,} items, the end of year {years}, {DRAWINGS} drawings")
    for name, column in zip(names, found.T, strict=True):
        print(f"  {name:<30} {column.mean():5.1f}%  (drawings {column.min():.1f} to {column.max():.1f})")


if __name__ == "__main__":
    data, like, years = (*sys.argv[1:], *("sample:films", "", "1")[len(sys.argv) - 1 :])
    main(data, float(like) if like else None, int(years))
