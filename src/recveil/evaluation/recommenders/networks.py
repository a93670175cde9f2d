"""Two small networks that read a stream and tell its next item: self-attention (SASRec) and a recurrent unit (GRU4Rec).

Arrays in, scores out; it needs torch and numpy alone. Both are trained by cross-entropy over all items (over a sample
of the others, where there are very many), with weights shared between what is read and what is told. Training ends
when the last items of some streams, which are put aside, are no longer told better.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Ints = NDArray[np.int64]

VALIDATION = 2000  # streams at most whose last item decides when to end
ROUND = 64  # batches at least between two looks at them: few people are passed over several times
CELLS = 1 << 24  # scores held at a time
NO_MEMORY = "trained on the CPU: the memory of the GPU was not enough"


@dataclass(frozen=True)
class NetworkSettings:
    """`length`: how many of the latest items are read. Of more than `whole` items, `negatives` are drawn to a batch."""

    kind: Literal["attention", "recurrent"]
    length: int = 200
    width: int = 64
    blocks: int = 2
    dropout: float = 0.2
    rate: float = 0.002
    batch: int = 128
    rounds: int = 100
    patience: int = 5
    whole: int = 8192
    negatives: int = 4096


class Attention(nn.Module):
    """Blocks of causal self-attention with one head, each followed by two linear layers, over items and places."""

    def __init__(self, items: int, s: NetworkSettings) -> None:
        super().__init__()
        self.item = nn.Embedding(items + 1, s.width, padding_idx=items)
        self.place = nn.Embedding(s.length, s.width)
        self.drop = nn.Dropout(s.dropout)
        self.blocks = nn.ModuleList(_Block(s.width, s.dropout) for _ in range(s.blocks))
        self.norm = nn.LayerNorm(s.width)
        self.scale = s.width**0.5
        _start_small(self)

    def forward(self, items: Any) -> Any:
        places = torch.arange(items.shape[-1], device=items.device)
        x = self.drop(self.item(items) * self.scale + self.place(places))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class _Block(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ask, self.offer, self.tell = (nn.Linear(width, width) for _ in range(3))
        self.out, self.first, self.second = (nn.Linear(width, width) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Any) -> Any:
        q = self.before(x)
        weights = self.ask(q) @ self.offer(x).transpose(-1, -2) / x.shape[-1] ** 0.5
        later = torch.ones(weights.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        weights = self.drop(weights.masked_fill(later, -torch.inf).softmax(-1))
        x = self.between(q + self.out(weights @ self.tell(x)))
        return x + self.drop(self.second(torch.relu(self.drop(self.first(x)))))


class Recurrent(nn.Module):
    """A gated recurrent unit over the items."""

    def __init__(self, items: int, s: NetworkSettings) -> None:
        super().__init__()
        self.item = nn.Embedding(items + 1, s.width, padding_idx=items)
        self.drop = nn.Dropout(s.dropout)
        self.unit = nn.GRU(s.width, s.width, batch_first=True)
        nn.init.normal_(self.item.weight, std=0.02)

    def forward(self, items: Any) -> Any:
        return self.drop(self.unit(self.drop(self.item(items)))[0])


def _start_small(net: nn.Module) -> None:
    for part in net.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=0.02)
        if isinstance(part, nn.Linear):
            nn.init.zeros_(part.bias)


@dataclass(eq=False)
class TrainedNetwork:
    """A trained network; `note` says where it could not be trained as meant, `rounds` how long it was."""

    net: Any
    settings: NetworkSettings
    items: int
    rounds: int = 0
    note: str = ""

    def scores(self, item: NDArray[Any], begin: Ints, end: Ints) -> NDArray[np.float32]:
        """Of each stream item[begin[k]:end[k]] the scores of all items as its next one."""
        device = next(self.net.parameters()).device
        step = max(1, min(CELLS // (self.items + 1), CELLS // (self.settings.length * self.settings.width)))
        self.net.eval()
        found = [np.empty((0, self.items), dtype=np.float32)]
        with torch.no_grad():
            for at in range(0, len(begin), step):
                read, sizes = padded(item, begin[at : at + step], end[at : at + step], self.settings.length, self.items)
                states = self.net(torch.from_numpy(read).to(device))
                last = states[torch.arange(len(read), device=device), torch.from_numpy(sizes - 1).to(device)]
                found.append((last @ self.net.item.weight[: self.items].T).cpu().numpy())
        return np.concatenate(found)


def padded(item: NDArray[Any], begin: Ints, end: Ints, length: int, pad: int) -> tuple[Ints, Ints]:
    """The latest `length` items of each stream as a row, filled up with `pad` at its end; and how many there are."""
    first = np.maximum(begin, end - length)
    sizes = end - first
    at = first[:, None] + np.arange(sizes.max(initial=1))
    return np.where(at < end[:, None], item[np.minimum(at, len(item) - 1)], pad).astype(np.int64), sizes


def learn(starts: Ints, item: NDArray[Any], items: int, settings: NetworkSettings, seed: int) -> TrainedNetwork:
    """Train on streams item[starts[u]:starts[u + 1]]: on a GPU where there is one and its memory is enough."""
    if torch.cuda.is_available():
        try:
            return learn_on("cuda", starts, item, items, settings, seed)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            made = learn_on("cpu", starts, item, items, settings, seed)
            made.note = NO_MEMORY
            return made
    return learn_on("cpu", starts, item, items, settings, seed)


def learn_on(
    device: str, starts: Ints, item: NDArray[Any], items: int, settings: NetworkSettings, seed: int
) -> TrainedNetwork:
    """The round that told the items put aside best, of those until `patience` in a row did no better."""
    rng = np.random.default_rng(seed)
    begin, end = starts[:-1], starts[1:].copy()
    long = np.flatnonzero(end - begin >= 3)
    aside = rng.permutation(long)[: min(VALIDATION, len(long) // 2)]
    end[aside] -= 1
    asked = begin[aside], end[aside]
    rows = np.flatnonzero(end - begin >= 2)
    passes = -(-ROUND * settings.batch // max(len(rows), 1))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net: Any = (Attention if settings.kind == "attention" else Recurrent)(items, settings).to(device)
        adam = torch.optim.Adam(net.parameters(), lr=settings.rate)
        best, kept, since = -1.0, net.state_dict(), 0
        made = TrainedNetwork(net, settings, items)
        for number in range(1, settings.rounds + 1):
            net.train()
            for batch in batches(np.tile(rows, passes), end - begin, settings.batch, rng):
                read, _ = padded(item, begin[batch], end[batch], settings.length + 1, items)
                _step(net, adam, torch.from_numpy(read).to(device), settings, items)
            since += 1
            gain = ndcg(made, item, *asked) if len(aside) else float(number)
            if gain > best:
                best, kept, since, made.rounds = gain, deepcopy(net.state_dict()), 0, number
            if since == settings.patience:
                break
    net.load_state_dict(kept)
    return made


def batches(rows: Ints, sizes: Ints, batch: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Rows in random batches of streams that are about as long, in random order."""
    rows = rng.permutation(rows)
    pool = 16 * batch
    parts = [rows[at : at + pool] for at in range(0, len(rows), pool)]
    cut = [p[np.argsort(sizes[p], kind="stable")] for p in parts]
    every = [c[at : at + batch] for c in cut for at in range(0, len(c), batch)]
    return (every[k] for k in rng.permutation(len(every)))


def _step(net: Any, adam: Any, streams: Any, settings: NetworkSettings, items: int) -> None:
    """One step of Adam on the cross-entropy of each stream's items after the first."""
    read, told = streams[:, :-1], streams[:, 1:]
    there = told != items
    states, target = net(read)[there], told[there]
    weight = net.item.weight[:items]
    if items > settings.whole:
        drawn = torch.randint(items, (settings.negatives,), device=streams.device)
        others = (states @ weight[drawn].T).masked_fill(drawn == target[:, None], -torch.inf)
        logits = torch.cat([(states * weight[target]).sum(-1, keepdim=True), others], 1)
        target = torch.zeros_like(target)
    else:
        logits = states @ weight.T
    adam.zero_grad()
    nn.functional.cross_entropy(logits, target).backward()
    adam.step()


def ndcg(made: TrainedNetwork, item: NDArray[Any], begin: Ints, end: Ints) -> float:
    """Mean NDCG@10 of the items that follow the given streams, among those that are not in them."""
    total, step = 0.0, max(1, CELLS // made.items)
    for at in range(0, len(begin), step):
        here = slice(at, at + step)
        scores = made.scores(item, begin[here], end[here])
        for row, first, last in zip(scores, begin[here], end[here], strict=True):
            if item[last] not in (seen := item[first:last]):
                row[seen] = -np.inf
                rank = int(np.count_nonzero(row >= row[item[last]]))
                total += 1 / np.log2(rank + 1) if rank <= 10 else 0.0
    return total / max(len(begin), 1)
