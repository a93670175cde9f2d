"""Networks as ONNX, in the process that bounds them: run by make test-extras, where onnx and onnxruntime are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from courts import ITEMS, court, random_weights, saved

from recveil.court import validate
from recveil.court.scoring import enter, score
from recveil.court.values import values
from recveil.errors import RecveilError

onnx = pytest.importorskip("onnx", reason="onnx is not installed; make test-extras has it")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; make test-extras has it")
pytestmark = pytest.mark.extras


def dense() -> np.ndarray[Any, Any]:
    table = np.zeros((ITEMS, ITEMS), dtype=np.float32)
    frame = random_weights()
    table[frame["item"].to_numpy(), frame["other"].to_numpy()] = frame["weight"].to_numpy()
    return table


def model(file: Path, nodes: list[Any], arrays: dict[str, Any], outside: bool = False) -> Path:
    from onnx import TensorProto, helper, numpy_helper

    given = helper.make_tensor_value_info("history", TensorProto.INT64, ["n"])
    made = helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)
    numbers = [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "model", [given], [made], initializer=numbers)
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    whole.ir_version = 8
    onnx.save(whole, str(file), save_as_external_data=outside, location="beside.bin", size_threshold=0)
    return file


def sums(file: Path, table: Any, **more: Any) -> Path:
    from onnx import helper

    nodes = [helper.make_node("Gather", ["table", "history"], ["rows"], axis=0),
             helper.make_node("ReduceSum", ["rows", "axes"], ["scores"], keepdims=0)]  # fmt: skip
    return model(file, nodes, {"table": table, "axes": np.array([0], dtype=np.int64)}, **more)


def loop(file: Path, times: int) -> Path:
    """Doubles a number again and again: it takes as long as it is told."""
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["state", "state"], ["next"]), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [
            value("k", TensorProto.INT64, []),
            value("go", TensorProto.BOOL, []),
            value("state", TensorProto.FLOAT, [ITEMS]),
        ],
        [value("on", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [ITEMS])],
    )
    nodes = [helper.make_node("Loop", ["times", "yes", "start"], ["scores"], body=body)]
    arrays = {"times": np.array(times, np.int64), "yes": np.array(True), "start": np.zeros(ITEMS, np.float32)}
    return model(file, nodes, arrays)


def test_a_network_is_worth_what_the_same_weights_are(tmp_path: Path) -> None:
    made = court(tmp_path, each=2.0)
    people = made.people()
    table = enter(made, saved(tmp_path, random_weights())).submission
    network = enter(made, sums(tmp_path / "model.onnx", dense())).submission
    assert network.kind == "network"
    theirs = values(network.lists(people, 10), people, "ndcg@10")  # it lists items of weight 0 too
    assert np.mean(np.abs(theirs - values(table.lists(people, 10), people, "ndcg@10")) <= 1) > 0.9
    (found,) = score(made, [enter(made, tmp_path / "model.onnx")])
    assert found.value is not None and made.left == 19


def test_one_history_on_which_it_fails_is_a_zero_for_her_alone(tmp_path: Path) -> None:
    """Not a number where two items stand together, which no generated history has: nobody else's list changes."""
    made = court(tmp_path, each=2.0)
    people = made.people()
    sound = enter(made, sums(tmp_path / "sound.onnx", dense())).submission.model
    from recveil.court.network import OnnxModel

    broken = dense()
    hers = people.history[people.starts[3]]
    broken[hers] = np.nan
    made_of = OnnxModel(sums(tmp_path / "broken.onnx", broken).read_bytes(), ITEMS, 2.0)
    lists, honest = made_of.lists(people, 10), sound.lists(people, 10)
    touched = np.array([hers in people.history[a:b] for a, b in zip(people.starts, people.starts[1:], strict=False)])
    assert touched.any() and not touched.all()
    assert (lists[touched] == -1).all()
    np.testing.assert_array_equal(lists[~touched], honest[~touched])


def test_what_hangs_eats_memory_or_opens_files_is_refused_and_nothing_is_spent(tmp_path: Path) -> None:
    from onnx import helper

    made = court(tmp_path, each=0.5)
    big = [
        helper.make_node("ConstantOfShape", ["shape"], ["huge"]),
        helper.make_node("ReduceSum", ["huge"], ["total"], keepdims=0),
        helper.make_node("Expand", ["total", "width"], ["scores"]),
    ]
    nan = dense()
    nan[:] = np.nan
    outside = tmp_path / "outside"
    outside.mkdir()
    cases = {
        "no answer within 0.5 s": loop(tmp_path / "hangs.onnx", 10**12),
        "on a generated history it gives": model(
            tmp_path / "eats.onnx", big, {"shape": np.array([1 << 34], np.int64), "width": np.array([ITEMS], np.int64)}
        ),
        "lie in other files": sums(outside / "model.onnx", dense(), outside=True),
        "not a finite number": sums(tmp_path / "nan.onnx", nan),
        "where 30 floats are wanted": sums(tmp_path / "shape.onnx", dense()[:, :7]),
        "it gives": sums(tmp_path / "items.onnx", dense()[:9]),
        "draws by chance": model(
            tmp_path / "chance.onnx", [helper.make_node("RandomUniform", [], ["scores"], shape=[ITEMS])], {}
        ),
    }
    for why, file in cases.items():
        with pytest.raises(RecveilError, match=why) as stopped:
            enter(made, file)
        assert "\n" not in str(stopped.value), why
    assert [line["mechanism"] for line in made.lines()] == ["judge:count"]


def test_the_process_can_open_nothing(tmp_path: Path) -> None:
    """Even where a model names a file beside it and nobody looked at its bytes."""
    from recveil.court.network import running

    outside = tmp_path / "outside"
    outside.mkdir()
    file = sums(outside / "model.onnx", dense(), outside=True)
    with pytest.raises(RecveilError, match="cannot be loaded"), running(file.read_bytes(), ITEMS, 1.0):
        pass


def test_a_network_that_is_not_loaded_in_time_ends_and_spends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that is too busy: it would be tried again for ever."""
    from recveil.court import network

    made = court(tmp_path, each=2.0)
    entrant = enter(made, sums(tmp_path / "model.onnx", dense()))
    monkeypatch.setattr(network, "LOADING", 0.0)
    with pytest.raises(RecveilError, match="cannot be loaded within 0 s"):
        score(made, [entrant])
    assert [line["mechanism"] for line in made.lines()] == ["judge:count"]


def test_the_validator_takes_what_the_court_takes_and_refuses_other_files_and_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnx import helper

    rules = {"items": ITEMS, "most_bytes": 1 << 20}
    (tmp_path / "challenge.json").write_text(json.dumps(rules))
    (tmp_path / "histories.json").write_text(json.dumps([[1], [2, 3]]))
    monkeypatch.chdir(tmp_path)  # where the other file lies
    assert validate.validate(sums(tmp_path / "whole.onnx", dense()), tmp_path)["kind"] == "network"
    drawn = [helper.make_node("RandomNormal", [], ["scores"], shape=[ITEMS])]
    for file, why in (
        (sums(tmp_path / "parted.onnx", dense(), outside=True), "no other files"),
        (model(tmp_path / "chance.onnx", drawn, {}), "the same scores"),
    ):
        with pytest.raises(validate.RefusedError, match=why):
            validate.validate(file, tmp_path)
    assert Path.cwd() == tmp_path
