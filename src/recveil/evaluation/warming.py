"""Kernels are compiled once a machine, which takes longer than what they do for a small log. A second process compiles
those of later mechanisms while the first is at work; both find them in numba's cache.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


@contextmanager
def compiled_beside(name: str, specs: Sequence[str]) -> Iterator[None]:
    """While this lasts, a process releases a generated sample by each spec, and keeps nothing."""
    command = [sys.executable, "-m", __name__, name, *specs]
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main(name: str, *specs: str) -> None:
    from recveil.errors import RecveilError
    from recveil.mechanisms.spec import parse
    from recveil.releases.catalogue import read_catalogue
    from recveil.releases.release import release
    from recveil.samples import sample

    data, items = sample(name), read_catalogue(f"sample:{name}")
    for spec in specs:
        with suppress(RecveilError):
            release(data, parse(spec), seed=0, catalogue=items)


if __name__ == "__main__":
    main(*sys.argv[1:])
