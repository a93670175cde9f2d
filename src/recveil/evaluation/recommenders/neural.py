"""SASRec and GRU4Rec: networks as sequential referees, by torch (the extra `neural`), on a GPU where there is one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from recveil.data import Floats, Interactions
from recveil.errors import RecveilError, not_installed
from recveil.evaluation.recommenders.sequential import AskedStreams

if TYPE_CHECKING:
    from recveil.evaluation.recommenders.networks import TrainedNetwork

NO_STREAM = "no person has two items in order, so a network has nothing to learn from"


@dataclass(frozen=True)
class _Trained:
    """What both networks are trained with; recommenders/networks.py says what each is."""

    length: int = 200
    width: int = 64
    dropout: float = 0.2
    rate: float = 0.002
    batch: int = 128
    rounds: int = 100
    patience: int = 5


@dataclass(frozen=True)
class SASRec(_Trained):
    """Self-attention over the latest items (Kang and McAuley 2018), with cross-entropy over all items as its loss."""

    name: ClassVar[str] = "sasrec"
    blocks: int = 2

    def fit(self, train: Interactions, seed: int) -> Network:
        return _fitted("attention", self, train, seed)


@dataclass(frozen=True)
class GRU4Rec(_Trained):
    """A gated recurrent unit over the latest items (Hidasi and others 2016), with the same loss."""

    name: ClassVar[str] = "gru4rec"

    def fit(self, train: Interactions, seed: int) -> Network:
        return _fitted("recurrent", self, train, seed)


@dataclass(frozen=True, eq=False)
class Network:
    made: TrainedNetwork

    @property
    def note(self) -> str:
        return self.made.note

    def scores(self, streams: AskedStreams) -> Floats:
        found: Floats = self.made.scores(streams.item, streams.begin, streams.asked).astype(float)
        return found


def _fitted(kind: Literal["attention", "recurrent"], chosen: _Trained, train: Interactions, seed: int) -> Network:
    try:
        from recveil.evaluation.recommenders.networks import NetworkSettings, learn
    except ModuleNotFoundError as missing:
        raise RecveilError(not_installed(missing)) from missing
    rows = train.ordered()
    starts = rows.starts()
    if not len(rows) or (starts[1:] - starts[:-1]).max() < 2:
        raise RecveilError(NO_STREAM)
    return Network(learn(starts, rows.item, rows.n_items, NetworkSettings(kind=kind, **asdict(chosen)), seed))
