"""recveil: the release desk for recommender data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recveil.assessment import assess
    from recveil.bundle import Bundle, load, save, verify
    from recveil.data import Interactions, concat
    from recveil.errors import RecveilError
    from recveil.formats import deduplicate, from_csr, from_frame, read, write
    from recveil.guarantee import Guarantee, compose
    from recveil.inspection import inspect
    from recveil.measurement import Measurement, Trial, measure, trial
    from recveil.measures import measure_release
    from recveil.mechanism import Masking, Mechanism, Synthesis
    from recveil.protection import choose_p
    from recveil.release import Release, release
    from recveil.samples import sample
    from recveil.spec import parse

__version__ = "0.1.0"

# Loaded when first used, so that the command line starts at once.
_ROOMS = {
    "assessment": ("assess",),
    "bundle": ("Bundle", "load", "save", "verify"),
    "data": ("Interactions", "concat"),
    "errors": ("RecveilError",),
    "formats": ("deduplicate", "from_csr", "from_frame", "read", "write"),
    "guarantee": ("Guarantee", "compose"),
    "inspection": ("inspect",),
    "measurement": ("Measurement", "Trial", "measure", "trial"),
    "measures": ("measure_release",),
    "mechanism": ("Masking", "Mechanism", "Synthesis"),
    "protection": ("choose_p",),
    "release": ("Release", "release"),
    "samples": ("sample",),
    "spec": ("parse",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Bundle",
    "Guarantee",
    "Interactions",
    "Masking",
    "Measurement",
    "Mechanism",
    "RecveilError",
    "Release",
    "Synthesis",
    "Trial",
    "assess",
    "choose_p",
    "compose",
    "concat",
    "deduplicate",
    "from_csr",
    "from_frame",
    "inspect",
    "load",
    "measure",
    "measure_release",
    "parse",
    "read",
    "release",
    "sample",
    "save",
    "trial",
    "verify",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(import_module(f"recveil.{_ROOM_OF[name]}"), name)
    raise AttributeError(f"module 'recveil' has no attribute {name!r}")
