"""recveil: the release desk for recommender data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recveil.data import Interactions, concat
    from recveil.desk.assess import assess
    from recveil.desk.bundle import Bundle, load, save, verify
    from recveil.desk.inspect import inspect
    from recveil.desk.measure import measure_release
    from recveil.desk.release import Release, release
    from recveil.errors import RecveilError
    from recveil.formats import deduplicate, from_csr, from_frame, read, write
    from recveil.guarantee import Guarantee, compose
    from recveil.measurement import Measurement, Trial, measure, trial
    from recveil.mechanism import Masking, Mechanism, Synthesis
    from recveil.mechanisms.mask.choose_p import choose_p
    from recveil.mechanisms.spec import parse
    from recveil.samples import sample

__version__ = "0.1.0"

# Loaded when first used, so that the command line starts at once.
_ROOMS = {
    "desk.assess": ("assess",),
    "desk.bundle": ("Bundle", "load", "save", "verify"),
    "data": ("Interactions", "concat"),
    "errors": ("RecveilError",),
    "formats": ("deduplicate", "from_csr", "from_frame", "read", "write"),
    "guarantee": ("Guarantee", "compose"),
    "desk.inspect": ("inspect",),
    "measurement": ("Measurement", "Trial", "measure", "trial"),
    "desk.measure": ("measure_release",),
    "mechanism": ("Masking", "Mechanism", "Synthesis"),
    "mechanisms.mask.choose_p": ("choose_p",),
    "desk.release": ("Release", "release"),
    "samples": ("sample",),
    "mechanisms.spec": ("parse",),
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
