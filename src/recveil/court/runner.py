"""The process in which a network runs. It is started by its path, and imports nothing of ours.

Once the model is about to be loaded, nothing can be opened any more: no file, no socket (there is no number left for
one), and memory is bounded. For every history a process of its own is forked from the loaded model, and ended when its
time is over: what one person's history does to it, the next one never sees.
"""

import mmap
import os
import resource
import signal
import struct
import sys
from functools import partial
from typing import Any


def say(status: int, body: bytes) -> None:
    sys.stdout.buffer.write(struct.pack("<BI", status, len(body)) + body)
    sys.stdout.buffer.flush()


def read(size: int) -> bytes:
    found = sys.stdin.buffer.read(size)
    if len(found) < size:
        os._exit(0)
    return found


def scores_of(session: Any, history: Any, width: int, np: Any) -> Any:
    """The scores as bytes, or a reason."""
    given, taken = np.array(history, dtype=np.int64), session.get_inputs()[0]
    found = session.run(None, {taken.name: given[None] if len(taken.shape) == 2 else given})
    made = np.asarray(found[0])
    if len(found) != 1 or made.size != width or made.dtype.kind != "f":
        return f"{len(found)} outputs, the first of {made.size} {made.dtype}, where {width} floats are wanted"
    return np.ascontiguousarray(made.reshape(-1), dtype="<f4").tobytes()


def forked(answer: Any, shared: Any, each: float) -> Any:
    """What a child of this process writes into the shared memory, or a reason."""
    shared[0] = 0
    pid = os.fork()
    if pid == 0:
        try:
            made = answer()
            body = made.encode()[:400] if isinstance(made, str) else made
            shared[5 : 5 + len(body)] = body
            shared[1:5] = struct.pack("<I", len(body))
            shared[0] = 2 if isinstance(made, str) else 1
        except MemoryError:
            shared[0] = 3
        except BaseException as error:
            body = type(error).__name__.encode()[:100]
            shared[1:5], shared[5 : 5 + len(body)] = struct.pack("<I", len(body)), body
            shared[0] = 2
        os._exit(0)
    if signal.sigtimedwait({signal.SIGCHLD}, each) is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        signal.sigtimedwait({signal.SIGCHLD}, 0)
        return f"no answer within {each:g} s"
    os.waitpid(pid, 0)
    size = struct.unpack("<I", shared[1:5])[0]
    body = bytes(shared[5 : 5 + size])
    return {1: body, 2: body.decode(errors="replace")}.get(shared[0], "no answer: it ended, perhaps for want of memory")


def main() -> None:
    length, width, memory, each = struct.unpack("<QQQd", read(32))
    model = read(length)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # before any library starts threads, who inherit it
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError:
        return say(1, b"onnxruntime is not installed; pip install 'recveil[judge]'")
    ort.set_default_logger_severity(4)
    shared = mmap.mmap(-1, 4 * width + 1024)
    wishes = ort.SessionOptions()
    wishes.intra_op_num_threads = wishes.inter_op_num_threads = 1
    wishes.enable_cpu_mem_arena = wishes.enable_mem_pattern = False
    wishes.log_severity_level = 4
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    try:
        session = ort.InferenceSession(model, wishes, providers=["CPUExecutionProvider"])
        taken = session.get_inputs()
        if len(taken) != 1 or taken[0].type != "tensor(int64)" or len(taken[0].shape) not in (1, 2):
            return say(1, b"it must take one input, a history of item numbers (int64) of any length")
    except BaseException as error:
        return say(1, f"it cannot be loaded: {type(error).__name__}".encode())
    say(0, b"")
    while True:
        n = struct.unpack("<I", read(4))[0]
        history = struct.unpack(f"<{n}q", read(8 * n))
        made = forked(partial(scores_of, session, history, width, np), shared, each)
        say(1, made.encode()) if isinstance(made, str) else say(0, made)


if __name__ == "__main__":
    main()
