"""A network as ONNX: history of item numbers in, a score for every item out, in a process of its own (runner.py).

The file is data of a language that can loop, eat memory, name other files and draw by chance. What draws by chance,
other operators than ONNX's own and files beside it are refused by name; the process can open nothing, and has limits of
memory and of time for each person. It is tried on public generated histories first: whatever fails there refuses the
file.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.court.people import Histories, generated
from recveil.data import Codes
from recveil.errors import RecveilError

MEMORY = 3 << 30  # bytes that the process may hold, libraries and model with it
LOADING = 60.0  # seconds
LARGEST = 512 << 20  # bytes of a model
DOMAINS = {"", "ai.onnx", "ai.onnx.ml"}
BY_CHANCE = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
DEEP = 50  # graphs inside graphs


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model that did what it should on the generated histories."""

    model: bytes
    width: int
    each: float

    def lists(self, people: Histories, n: int) -> Codes:
        from recveil.kernels.ranking import top_n

        lists = np.full((len(people), n), -1, dtype=np.int32)
        next_ = 0
        while next_ < len(people):  # a process that ends takes one person's list with it, and nobody else's
            with suppress(OSError), running(self.model, self.width, self.each) as process:
                while next_ < len(people):
                    hers = people.history[people.starts[next_] : people.starts[next_ + 1]]
                    next_ += 1
                    scores, _ = process.ask(hers)
                    if scores is not None:
                        seen = np.array([0, len(hers)], dtype=np.int64)
                        lists[next_ - 1] = top_n(scores.astype(np.float64)[None], seen, hers.astype(np.int32), n)[0]
        return lists


class Running:
    """The process that runs a model; it answers one history at a time, or says why not."""

    def __init__(self, process: subprocess.Popen[bytes], width: int, each: float) -> None:
        self._process, self._width, self._each = process, width, each

    def ask(self, history: Codes) -> tuple[NDArray[np.float32] | None, str]:
        """The scores, or None and the reason."""
        self._send(struct.pack("<I", len(history)) + history.astype("<i8").tobytes())
        status, size = struct.unpack("<BI", self.receive(5, self._each + 30))
        body = self.receive(size, self._each + 30)
        if status:
            return None, body.decode(errors="replace")
        scores = np.frombuffer(body, dtype="<f4")
        return (scores, "") if np.all(np.isfinite(scores)) else (None, "a score that is not a finite number")

    def load(self, model: bytes) -> None:
        """Raise where it cannot be loaded: no person took part in that, so it is no one person's failure."""
        try:
            self._send(struct.pack("<QQQd", len(model), self._width, MEMORY, self._each) + model)
            status, size = struct.unpack("<BI", self.receive(5, LOADING))
            said = self.receive(size, LOADING).decode(errors="replace")
        except OSError:
            raise RecveilError(f"it cannot be loaded within {LOADING:g} s and {MEMORY >> 30} GiB") from None
        if status:
            raise RecveilError(said)

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def receive(self, size: int, seconds: float) -> bytes:
        """So many bytes; OSError where they do not come in time."""
        pipe, found = self._process.stdout, b""
        assert pipe is not None
        while len(found) < size:
            if not select([pipe], [], [], seconds)[0]:
                raise TimeoutError("no answer")
            part = pipe.read1(size - len(found))  # type: ignore[attr-defined]
            if not part:
                raise OSError("the process ended")
            found += part
        return found


@contextmanager
def running(model: bytes, width: int, each: float) -> Iterator[Running]:
    """The process, in an empty folder and without our environment; gone afterwards, whatever happened."""
    runner = Path(__file__).with_name("runner.py")
    with TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-I", str(runner)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
            env={"OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        try:
            made = Running(process, width, each)
            made.load(model)
            yield made
        finally:
            process.kill()
            process.communicate()


def read_network(path: Path, width: int, each: float) -> OnnxModel:
    """A model, after what it is made of was looked at and it was tried on generated histories."""
    if path.stat().st_size > LARGEST:
        raise RecveilError(f"{path} is larger than {LARGEST >> 20} MiB, the most that a network may be")
    model = path.read_bytes()
    try:
        check_operators(model)
        with running(model, width, each) as process:
            public = generated(width)
            for p in range(len(public)):
                scores, why = process.ask(public.history[public.starts[p] : public.starts[p + 1]])
                if scores is None:
                    raise RecveilError(f"on a generated history it gives {why}")
    except RecveilError as why:
        if "onnxruntime is not installed" in str(why):
            raise
        raise RecveilError(f"{path}: {why}; nothing was spent") from None
    except OSError:
        raise RecveilError(f"{path} cannot be run within {MEMORY >> 30} GiB; nothing was spent") from None
    return OnnxModel(model, width, each)


# --- what a model is made of ----------------------------------------------------------------------------------
# ONNX is protobuf. Only the fields that name operators are followed: model.graph 7, model.functions 25, graph.node 1,
# graph.initializer 5, function.node 7, node.op_type 4, node.attribute 5, node.domain 7, attribute.g 6,
# attribute.graphs 11, tensor.external_data 13.


def check_operators(model: bytes) -> None:
    """Raise where a model is none, draws by chance, brings operators of its own, or names files beside it."""
    try:
        graphs = [value for number, value in _fields(model) if number == 7]
        functions = [value for number, value in _fields(model) if number == 25]
        if not graphs:
            raise ValueError
        for graph in graphs:
            _check_nodes(graph, 1, DEEP)
        for function in functions:
            _check_nodes(function, 7, DEEP)
    except RecveilError:
        raise
    except (ValueError, IndexError, UnicodeDecodeError):
        raise RecveilError("this is no ONNX model") from None


def _check_nodes(graph: Any, node_number: int, deep: int) -> None:
    if deep == 0:
        raise RecveilError("graphs stand in graphs more deeply than anybody needs")
    for number, value in _fields(graph):
        if number == 5 and node_number == 1 and any(part == 13 for part, _ in _fields(value)):
            raise RecveilError("its numbers lie in other files; save the model as one file")
        if number != node_number:
            continue
        node = list(_fields(value))
        name = b"".join(bytes(v) for k, v in node if k == 4).decode()
        domain = b"".join(bytes(v) for k, v in node if k == 7).decode()
        if domain not in DOMAINS and not domain.startswith("local"):
            raise RecveilError(f"operators of {domain[:40]!r} are not ONNX's own")
        if name in BY_CHANCE:
            raise RecveilError(f"{name} draws by chance; the same history must always have the same scores")
        for attribute in (v for k, v in node if k == 5):
            for part, inner in _fields(attribute):
                if part in (6, 11):
                    _check_nodes(inner, 1, deep - 1)


def _fields(message: Any) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers and, for what has a length, bytes."""
    view, at = memoryview(message) if not isinstance(message, int) else memoryview(b""), 0
    while at < len(view):
        tag, at = _varint(view, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(view, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _varint(view, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError
        if at + size > len(view):
            raise ValueError
        yield tag >> 3, view[at : at + size]
        at += size


def _varint(view: Any, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = view[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if not byte & 128:
            return value, at
        if shift > 63:
            raise ValueError
