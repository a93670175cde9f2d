"""export --to challenge: what participants get. The bundle as it is, the items with their numbers, the form of
submissions, the generated histories, and a validator that runs without this package. All of it is public.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl

from recveil.court import validate
from recveil.court.folder import Court, open_court
from recveil.court.network import LARGEST, MEMORY
from recveil.court.people import LONGEST, generated
from recveil.court.submissions import MOST_BYTES, MOST_ROWS
from recveil.errors import RecveilError
from recveil.ids import as_type, listed
from recveil.releases.bundle import load
from recveil.releases.places import Folder, check_vacant, whole

FORMAT = """# What to submit

One file of data, never code. Try it before you send it: `python validate.py model.parquet` (needs pyarrow, for .onnx
onnxruntime).

| columns of a .parquet | what it is |
|---|---|
| item, other, weight | every item of a history votes for others; the sums rank them |
| item, vector, perhaps bias | a person is the mean of her items' vectors; bias and product rank the others |
| item, perhaps place | one list for everybody, best first |
| item, other, likeness | the same: the table `pairs` of a bundle, where it has one |

Or an .onnx: one input, the numbers of the items of a history (int64, oldest first, {longest} at most), one output, a
float for each of the {items:,} items. `number` in items.parquet is an item's number. It may take {each:g} seconds for a
person and {memory} GiB; no random operators, no other files, no operators but ONNX's own.

Items that are not in items.parquet are ignored. What a person has touched is never recommended to her; of equal scores
the item of the lower number comes first. Judged by: {metrics}. {judged}

An answer has noise, which is stated. The same file has the same answer. What is refused is refused for the file alone,
and costs nothing.
"""


def export_challenge(bundle: str | Path, out: str | Path, court: str | Path | None = None) -> dict[str, Any]:
    """Write the folder; `court`: whose items, metrics and limits it is about, else those of the bundle."""
    made, target, source = open_court(court) if court else None, Folder(Path(out)), Path(bundle)
    check_vacant(target)
    found = load(source)
    if found.manifest["seeded"] or (made is not None and made.settled.seeded):
        raise RecveilError("made with a seed: an experiment is not for publication, so it is not exported")
    items = made.items() if made else listed(found.data.items)
    with whole(target) as part:
        shutil.copytree(source, part.path / "bundle")
        _items(items, source).write_parquet(part.path / "items.parquet")
        public = generated(len(items))
        histories = [public.history[a:b].tolist() for a, b in zip(public.starts, public.starts[1:], strict=False)]
        _put(part.path / "histories.json", json.dumps(histories))
        _put(part.path / "challenge.json", json.dumps(_rules(made, len(items)), indent=1))
        _put(part.path / "SUBMISSIONS.md", _format(made, len(items)))
        shutil.copyfile(validate.__file__, part.path / "validate.py")
    remarks = [] if made else ["no --court was named: its items are those of the bundle, its limits those of any court"]
    return {"to": "challenge", "out": str(out), "files": target.names(), "remarks": remarks}


def _items(items: pl.Series, bundle: Path) -> pl.DataFrame:
    """The items by number, with what the bundle publishes of them."""
    table = pl.DataFrame({"number": range(len(items)), "item": items})
    facts = bundle / "items.parquet"
    if not facts.exists():
        return table
    known = pl.read_parquet(facts)
    return table.join(known.with_columns(item=as_type(known["item"], items.dtype)), on="item", how="left")


def _rules(court: Court | None, items: int) -> dict[str, Any]:
    rules: dict[str, Any] = {"items": items, "most_rows": MOST_ROWS, "most_bytes": MOST_BYTES, "largest_onnx": LARGEST}
    if court:
        settled = court.settled
        rules |= {"metrics": settled.metrics, "people": settled.people, "find": settled.find, "like": settled.like}
        rules |= {"each": settled.each, "step": settled.step, "epsilon": settled.epsilon, "delta": settled.delta}
    return rules


def _format(court: Court | None, items: int) -> str:
    settled = court.settled if court else None
    judged = (
        f"About {settled.people:,} {settled.unit}s who are in no release judge it: of what each did the last "
        f"{settled.find:g} of it is to be found."
        if settled
        else "Who judges it is in no release."
    )
    metrics = ", ".join(settled.metrics) if settled else "what the owner says"
    each = settled.each if settled else 0.05
    return FORMAT.format(longest=LONGEST, items=items, each=each, memory=MEMORY >> 30, metrics=metrics, judged=judged)


def _put(path: Path, text: str) -> None:
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
