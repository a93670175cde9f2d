"""tune: the parameters of a mechanism that suit these data. It looks at the true data: the answer is the owner's."""

from __future__ import annotations

from dataclasses import dataclass

from recveil.desk.inputs import Input
from recveil.desk.progress import SILENT, Progress
from recveil.errors import unknown
from recveil.tuning import TUNERS, Tuned


@dataclass(frozen=True)
class TuneRequest:
    """`spec`: a mechanism that can be tuned; `keep`: a bound such as agreement>=0.8 or linkage@8<=0.1."""

    data: Input
    spec: str
    keep: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.name not in TUNERS:
            raise unknown("mechanism to tune", self.name, TUNERS)

    @property
    def name(self) -> str:
        return self.spec.partition(":")[0]


def run_tune(request: TuneRequest, progress: Progress = SILENT) -> Tuned:
    """What was found, with all that was tried."""

    def told(done: int, of: int) -> None:
        progress.step(f"tune {request.name}", done, of)

    return TUNERS[request.name](request.data.rows(progress), request.spec, request.keep, request.seed, told)
