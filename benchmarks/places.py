"""Where the real data sets are: the folder that RECVEIL_DATA names, else shared/data beside the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FOLDER = Path(os.environ.get("RECVEIL_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def needed(*names: str) -> Path:
    """The folder, where these data sets are in it; otherwise the benchmark ends, which is no failure."""
    missing = [name for name in names if not (FOLDER / name).is_dir()]
    if missing:
        print(f"skipped: no {' and no '.join(missing)} here; RECVEIL_DATA names the folder of the data sets")
        sys.exit()
    return FOLDER
