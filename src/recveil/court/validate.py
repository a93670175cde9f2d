"""Is it a submission? python validate.py model.parquet, in the folder of a challenge. It needs pyarrow, or onnxruntime.

This file comes with the challenge and stands alone: it says what the court would say of the file itself. What it is
worth, only the court can say.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

KINDS: dict[str, tuple[set[str], set[str]]] = {
    "weights": ({"item", "other", "weight"}, set()),
    "pairs": ({"item", "other", "likeness"}, set()),
    "vectors": ({"item", "vector"}, {"bias"}),
    "list": ({"item"}, {"place"}),
}


class RefusedError(Exception):
    """The file is no submission; the message says why."""


def validate(file: Any, challenge: Any) -> Any:
    """What a submission is, as a dict; RefusedError where it is none."""
    file, challenge = Path(file), Path(challenge)
    rules = json.loads((challenge / "challenge.json").read_text(encoding="utf-8"))
    if not file.is_file() or not file.stat().st_size:
        raise RefusedError("there is no such file, or it is empty")
    if file.stat().st_size > rules["most_bytes"]:
        raise RefusedError("it is larger than " + str(rules["most_bytes"]) + " bytes")
    with file.open("rb") as opened:
        head = opened.read(8)
    if head.startswith(b"PAR1"):
        found = tabular(file, challenge, rules)
    elif file.suffix == ".onnx":
        found = network(file, challenge, rules)
    else:
        raise RefusedError("it is neither parquet nor .onnx; pickles and archives are refused")
    return dict(found, sha256=hashlib.sha256(file.read_bytes()).hexdigest())


def tabular(file: Any, challenge: Any, rules: Any) -> Any:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        rows, names = pq.ParquetFile(file).metadata.num_rows, set(pq.read_schema(file).names)
    except Exception as error:
        raise RefusedError("it cannot be read as parquet: " + str(error).splitlines()[0]) from None
    if not rows or rows > rules["most_rows"]:
        raise RefusedError("it has " + str(rows) + " rows; 1 to " + str(rules["most_rows"]) + " are allowed")
    kind = next((k for k, (wanted, perhaps) in KINDS.items() if wanted <= names <= wanted | perhaps), None)
    if kind is None:
        raise RefusedError("it has the columns " + ", ".join(sorted(names)) + "; one of: " + str(KINDS))
    table = pq.read_table(file)
    ids = [name for name in ("item", "other") if name in names]
    known = {str(item) for item in pq.read_table(challenge / "items.parquet")["item"].to_pylist()}
    columns = [table[name].to_pylist() for name in ids]
    if any(value is None for column in columns for value in column):
        raise RefusedError("an id is missing")
    if any(isinstance(value, float) for value in columns[0][:1]):
        raise RefusedError("ids are integers or text")
    keys = [tuple(str(value) for value in row) for row in zip(*columns)]  # noqa: B905
    if len(set(keys)) < len(keys):
        raise RefusedError("a row for the same " + " and ".join(ids) + " stands there twice")
    for name in ("weight", "likeness", "bias", "place"):
        if name in names and not finite(table[name], pc):
            raise RefusedError(name + " must hold finite numbers, and none may be missing")
    if kind == "vectors":
        nested = "list" in str(table["vector"].type)
        lengths = set(pc.list_value_length(table["vector"]).to_pylist()) if nested else set()
        if len(lengths) != 1 or not min(lengths) or not finite(pc.list_flatten(table["vector"]), pc):
            raise RefusedError("vectors must all have the same length, and hold finite numbers")
    ignored = sum(not all(part in known for part in key) for key in keys)
    if ignored == len(keys):
        raise RefusedError("none of its items stands in items.parquet")
    return {"kind": kind, "rows": rows, "ignored": ignored}


def finite(column: Any, pc: Any) -> bool:
    try:
        numbers = pc.cast(column, "float32", safe=False)
    except Exception:
        return False
    return column.null_count == 0 and bool(pc.all(pc.is_finite(numbers)).as_py())


def network(file: Any, challenge: Any, rules: Any) -> Any:
    import numpy as np
    import onnxruntime as ort

    model, here = file.read_bytes(), Path.cwd()
    with tempfile.TemporaryDirectory() as empty:  # as at the court: nothing lies beside it
        os.chdir(empty)
        try:
            session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
        except Exception as error:
            why = "it cannot be loaded, and may have no other files beside it: "
            raise RefusedError(why + str(error).splitlines()[0]) from None
        finally:
            os.chdir(here)
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type != "tensor(int64)" or len(inputs[0].shape) not in (1, 2):
        raise RefusedError("it must take one input, a history of item numbers (int64) of any length")
    for history in json.loads((challenge / "histories.json").read_text(encoding="utf-8")):
        given = np.array(history, dtype=np.int64)
        asked = {inputs[0].name: given[None] if len(inputs[0].shape) == 2 else given}
        try:
            made, again = session.run(None, asked), session.run(None, asked)
        except Exception as error:
            raise RefusedError("it fails on a generated history: " + str(error).splitlines()[0]) from None
        scores = np.asarray(made[0])
        fits = len(made) == 1 and scores.size == rules["items"] and scores.dtype.kind == "f"
        if not fits or not np.all(np.isfinite(scores)):
            raise RefusedError("it must give one finite float for each of the " + str(rules["items"]) + " items")
        if not np.array_equal(scores, again[0]):
            raise RefusedError("the same history must always have the same scores")
    return {"kind": "network", "rows": 1, "ignored": 0}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("python validate.py FILE")
    try:
        print(json.dumps(validate(sys.argv[1], Path(__file__).resolve().parent)))
    except RefusedError as why:
        sys.exit("refused: " + str(why))
