"""recveil: the release desk for recommender data.

data = recveil.read("ratings.csv")                  # or a pandas, polars or arrow table, or a scipy matrix
recveil.assess(data)                                # who would be found, if only the ids were replaced?
made = recveil.release(data, "mask:p=0.9")          # or recveil.Mask(0.9)
made.save("out")
recveil.compare(data, ["pseudonymise", recveil.Mask(0.9)]).save("report.html")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recveil.api.court import Judge, judge
    from recveil.api.deciding import decide, standing, withdraw
    from recveil.api.fitting import FittedMechanism, fit, inspect
    from recveil.api.functions import assess, attack, compare, measure, read, release
    from recveil.api.judging import audit, choose, recommend, tune
    from recveil.api.ratings import predict
    from recveil.api.series import OpenSeries, open_series
    from recveil.data import Interactions, concat
    from recveil.errors import RecveilError
    from recveil.evaluation.assess import Assessment
    from recveil.evaluation.measure import Findings, measure_release
    from recveil.formats import deduplicate, from_csr, from_frame, write
    from recveil.guarantee import Guarantee, compose
    from recveil.measurement import Measurement, Trial, trial
    from recveil.mechanism import Masking, Mechanism, Synthesis
    from recveil.mechanisms import *  # noqa: F403
    from recveil.mechanisms.mask.choose_p import choose_p
    from recveil.mechanisms.spec import parse
    from recveil.releases.bundle import Bundle, load, save, verify
    from recveil.releases.release import Release
    from recveil.report.table import Report
    from recveil.samples import sample

__version__ = "0.1.0"

# Loaded when first used, so that the command line starts at once; and so is every class of the catalogue. No submodule
# has the name of a public function: importing it would bind the module over the function.
_ROOMS = {
    "data": ("Interactions", "concat"),
    "evaluation.assess": ("Assessment",),
    "releases.bundle": ("Bundle", "load", "save", "verify"),
    "evaluation.measure": ("Findings", "measure_release"),
    "releases.release": ("Release",),
    "errors": ("RecveilError",),
    "api.court": ("Judge", "judge"),
    "api.deciding": ("decide", "standing", "withdraw"),
    "api.fitting": ("FittedMechanism", "fit", "inspect"),
    "api.functions": ("assess", "attack", "compare", "measure", "read", "release"),
    "api.judging": ("audit", "choose", "recommend", "tune"),
    "api.ratings": ("predict",),
    "api.series": ("OpenSeries", "open_series"),
    "formats": ("deduplicate", "from_csr", "from_frame", "write"),
    "guarantee": ("Guarantee", "compose"),
    "measurement": ("Measurement", "Trial", "trial"),
    "mechanism": ("Masking", "Mechanism", "Synthesis"),
    "mechanisms.mask.choose_p": ("choose_p",),
    "mechanisms.spec": ("parse",),
    "report.table": ("Report",),
    "samples": ("sample",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Assessment",
    "Bundle",
    "Findings",
    "FittedMechanism",
    "Guarantee",
    "Interactions",
    "Judge",
    "Masking",
    "Measurement",
    "Mechanism",
    "OpenSeries",
    "RecveilError",
    "Release",
    "Report",
    "Synthesis",
    "Trial",
    "assess",
    "attack",
    "audit",
    "choose",
    "choose_p",
    "compare",
    "compose",
    "concat",
    "decide",
    "deduplicate",
    "fit",
    "from_csr",
    "from_frame",
    "inspect",
    "judge",
    "load",
    "measure",
    "measure_release",
    "open_series",
    "parse",
    "predict",
    "read",
    "recommend",
    "release",
    "sample",
    "save",
    "standing",
    "trial",
    "tune",
    "verify",
    "withdraw",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(import_module(f"recveil.{_ROOM_OF[name]}"), name)
    if name[:1].isupper() and name in (catalogue := import_module("recveil.mechanisms")).__all__:
        return getattr(catalogue, name)
    raise AttributeError(f"module 'recveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    classes = [name for name in import_module("recveil.mechanisms").__all__ if name[:1].isupper()]
    return sorted({*__all__, *classes, "__version__"})
