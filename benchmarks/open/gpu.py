"""Streams from small transformers, plain or trained by DP-SGD with per-person clipping: they want a GPU, or patience.

    python benchmarks/open/tasks.py FOLDER                 here: tasks of all data sets that have an order
    python benchmarks/open/gpu.py FOLDER [SIDE BY SIDE]    with torch and numpy alone, on a GPU where there is one
    python benchmarks/open/run.py --methods transformer,dp_sgd     here: judges what lies in FOLDER/drawn

A person is one stream and one example: every step takes each person with probability `rate`, cuts the norm of her
gradient to 1, adds Gaussian noise of deviation `noise` and divides by the expected number of people (Abadi and others
2016). What a noise costs is accounting.py's to say. The noise is torch's, not exact: a benchmark, not a mechanism.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import torch
    from torch.func import functional_call, grad, vmap
except ImportError:
    print("torch is not installed, so there is no transformer; pip install 'recveil[peers]'")
    sys.exit(0)

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "recveil" / "evaluation" / "recommenders"))

import networks
from accounting import steps

Ints = NDArray[np.int64]
CHUNK = 512  # gradients of so many people at a time


@dataclass(frozen=True)
class Recipe:
    """epsilon 0: plain training by random batches, with dropout; else DP-SGD, for `epochs` expected passes.

    selection: the deviation of the noise by which the items were selected, as a part of the budget.
    """

    length: int = 50
    width: int = 64
    blocks: int = 2
    batch: int = 256
    rate: float = 0.002
    epochs: int = 20
    dropout: float = 0.2
    epsilon: float = 0.0
    delta: float = 0.0
    selection: float = 0.0
    people: int = 0
    noise: float = 0.0

    def settings(self) -> Any:
        dropout = 0.0 if self.epsilon else self.dropout
        return networks.NetworkSettings(
            "attention", self.length + 1, self.width, self.blocks, dropout, self.rate, self.batch
        )


def framed(starts: Ints, item: Ints, items: int, length: int) -> Ints:
    """Rows: the mark `items`, up to `length` items from the stream's beginning, the mark again; then padding."""
    ends = np.minimum(starts[1:], starts[:-1] + length)
    rows, sizes = networks.padded(item, starts[:-1], ends, length, items + 1)
    whole = np.full((len(rows), rows.shape[1] + 2), items + 1, dtype=np.int64)
    whole[:, 0], whole[:, 1:-1] = items, rows
    whole[np.arange(len(rows)), sizes + 1] = items
    return whole


def loss_of(states: Any, weight: Any, told: Any, pad: int) -> Any:
    """The mean cross-entropy of a stream's tokens after the first."""
    logits = states @ weight[:pad].T
    each = torch.nn.functional.cross_entropy(logits.flatten(0, -2), told.flatten(), ignore_index=pad, reduction="none")
    there = (told != pad).flatten()
    return (each * there).sum() / there.sum().clamp(min=1)


def trained(starts: Ints, item: Ints, items: int, recipe: Recipe, seed: int, device: str) -> Any:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    pad = items + 1
    net: Any = networks.Attention(pad, recipe.settings()).to(device)
    adam = torch.optim.Adam(net.parameters(), lr=recipe.rate)
    rows = framed(starts, item, items, recipe.length)
    if recipe.epsilon:
        _privately(net, adam, torch.from_numpy(rows).to(device), recipe, rng, pad)
        return net
    net.train()
    sizes = (rows != pad).sum(1)
    for _ in range(recipe.epochs):
        for batch in networks.batches(np.arange(len(rows)), sizes, recipe.batch, rng):
            read = torch.from_numpy(rows[batch][:, : sizes[batch].max()]).to(device)
            adam.zero_grad()
            loss_of(net(read[:, :-1]), net.item.weight, read[:, 1:], pad).backward()
            adam.step()
    return net


def clipped(net: Any, pad: int) -> Any:
    """A function of parameters and people: the sum of their gradients, each cut to norm 1 over all parameters."""

    def one(parameters: Any, row: Any) -> Any:
        states = functional_call(net, parameters, (row[:-1],))
        return loss_of(states, parameters["item.weight"], row[1:], pad)

    each = vmap(grad(one), in_dims=(None, 0))

    def total(parameters: Any, rows: Any) -> Any:
        found = {name: torch.zeros_like(p) for name, p in parameters.items()}
        sizes = (rows != pad).sum(1)
        rows = rows[sizes.argsort()]  # like lengths together: no time goes to padding
        for at in range(0, len(rows), CHUNK):
            part = rows[at : at + CHUNK]
            grads = each(parameters, part[:, : int((part[-1] != pad).sum())])
            norm = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
            for name, g in grads.items():
                found[name] += torch.einsum("b,b...->...", 1 / norm.clamp(min=1.0), g)
        return found

    return total


def _privately(net: Any, adam: Any, rows: Any, recipe: Recipe, rng: np.random.Generator, pad: int) -> None:
    """Steps of DP-SGD (by Adam, which sees the noisy gradients alone)."""
    net.eval()
    values, total = dict(net.named_parameters()), clipped(net, pad)
    rate = min(1.0, recipe.batch / recipe.people)
    for _ in range(steps(recipe.epochs, recipe.people, recipe.batch)):
        chosen = torch.from_numpy(np.flatnonzero(rng.random(len(rows)) < rate)).to(rows.device)
        found = total({name: p.detach() for name, p in values.items()}, rows[chosen])
        for name, p in values.items():
            p.grad = (found[name] + recipe.noise * torch.randn_like(p)) / (rate * recipe.people)
        adam.step()


def drawn(net: Any, items: int, recipe: Recipe, k: int, seed: int, device: str) -> tuple[Ints, Ints]:
    """k streams of one item or more, token by token: starts and items."""
    torch.manual_seed(seed + 1)
    net.eval()
    found: list[list[int]] = []
    with torch.no_grad():
        while len(found) < k:
            rows = torch.full((min(4096, k - len(found)), 1), items, device=device)
            for place in range(recipe.length):
                logits = net(rows)[:, -1] @ net.item.weight[: items + 1].T
                if place == 0:
                    logits[:, items] = -torch.inf
                rows = torch.cat([rows, torch.multinomial(logits.softmax(-1), 1)], 1)
                ended = rows[:, -1] == items
                found += rows[ended, 1:-1].tolist()
                rows = rows[~ended]
                if not len(rows):
                    break
            found += rows[:, 1:].tolist()
    starts = np.append(0, np.cumsum([len(row) for row in found])).astype(np.int64)
    return starts, np.array([i for row in found for i in row], dtype=np.int64)


def run(path: Path, number: int, device: str) -> None:
    """One recipe of a task: train, draw, and write the streams beside the time and memory that it took."""
    task = np.load(path)
    recipe = Recipe(**json.loads(str(task["recipes"]))[number])
    starts = np.append(0, np.cumsum(task["sizes"].astype(np.int64)))
    items, k = len(task["kept"]), int(task["k"])
    clock = time.perf_counter if device == "cuda" else time.process_time
    begin = clock()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    net = trained(starts, task["item"].astype(np.int64), items, recipe, 0, device)
    begins, item = drawn(net, items, recipe, k, 0, device)
    seconds = clock() - begin
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    gigabytes = torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else most
    (path.parent / "drawn").mkdir(exist_ok=True)
    sizes = np.diff(begins).astype(np.int16)
    made = path.parent / "drawn" / f"{path.stem}.{number}.npz"
    cost = {"seconds": seconds, "gigabytes": gigabytes, "device": device}
    np.savez(made, sizes=sizes, item=item.astype(np.uint16), **cost)
    told = f"{made.name}: {seconds:.1f} s of the {device}, {gigabytes:.1f} GB, noise {recipe.noise:.3f}"
    print(f"{told}, mean length {sizes.mean():.2f}", flush=True)


def main(folder: Path, together: int) -> None:
    """All that is not drawn yet; several side by side, each a process of its own."""
    tasks = [(p, n) for p in sorted(folder.glob("*.npz")) for n in range(len(json.loads(str(np.load(p)["recipes"]))))]
    tasks = [(p, n) for p, n in tasks if not (folder / "drawn" / f"{p.stem}.{n}.npz").exists()]
    running: list[Any] = []
    for path, number in tasks:
        while len(running) >= together:
            running = [process for process in running if process.poll() is None]
            time.sleep(0.2)
        running.append(subprocess.Popen([sys.executable, __file__, str(path), "recipe", str(number)]))
    for process in running:
        process.wait()


if __name__ == "__main__" and len(sys.argv) > 1:
    if sys.argv[2:3] == ["recipe"]:
        run(Path(sys.argv[1]), int(sys.argv[3]), "cuda" if torch.cuda.is_available() else "cpu")
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8)
