"""The open benchmark: a stranger's method gets its row by one file; what is empty has its reason; printed figures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from making import kept, open_benchmark, open_results

import recveil
from recveil.data import Interactions, from_ids
from recveil.releases.keys import new_key

PROJECT = Path(__file__).parents[2]
OPEN = PROJECT / "benchmarks" / "open"
DATA = Path(os.environ.get("RECVEIL_DATA") or PROJECT.parent / "shared" / "data")
HOWTO = (PROJECT / "docs" / "howto" / "add_your_method.md").read_text(encoding="utf-8")
METHODS = {
    "stranger": HOWTO.partition("```text\n")[2].partition("```")[0],  # the one that the how-to shows
    "fails": "def fit(data, public, epsilon, delta, seed):\n    raise ValueError('a plain bug')\n",
    "crashes": "import os\n\ndef fit(data, public, epsilon, delta, seed):\n    os._exit(3)\n",
    "refuses": "from recveil.errors import RecveilError\n\n"
    "def fit(data, public, epsilon, delta, seed):\n    raise RecveilError('too few people')\n",
}


@pytest.fixture(scope="module")
def room() -> Iterator[Any]:
    """The modules of the benchmark, by their names alone."""
    names = ("data_sets", "protocols", "judges", "results", "plan", "methods.dpals")
    sys.path.insert(0, str(OPEN))
    try:
        yield type("room", (), {name.rpartition(".")[2]: import_module(name) for name in names})
    finally:
        sys.path.remove(str(OPEN))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the benchmark whose data set `anime` is made up, with its hash."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(OPEN, project / "benchmarks" / "open", ignore=shutil.ignore_patterns("__pycache__"))
    (project / "data" / "anime").mkdir(parents=True)
    rows = recveil.sample("films?users=300,items=80").frame()
    clicks = rows.select(user=pl.col("user").rank("dense").cast(pl.Int32), item=pl.col("item").rank("dense"))
    clicks.with_columns(pl.col("item").cast(pl.Int32)).write_parquet(project / "data" / "anime" / "clicks.parquet")
    items = pl.DataFrame({"item": np.arange(1, 81), "genre": [f"g{k % 7}" for k in range(80)]})
    items.write_parquet(project / "data" / "anime" / "items.parquet")
    source = project / "benchmarks" / "open" / "data_sets.py"
    text = source.read_text(encoding="utf-8")
    before, begin, rest = text.partition('"anime": DataSet(')
    for name in ("clicks", "items"):
        at = rest.index(f'"{name}.parquet": "') + len(f'"{name}.parquet": "')
        new = sha256((project / "data" / "anime" / f"{name}.parquet").read_bytes()).hexdigest()
        rest = rest[:at] + new + rest[at + 64 :]
    source.write_text(before + begin + rest, encoding="utf-8")
    return project


def run(project: Path, *arguments: str) -> str:
    environment = os.environ | {"RECVEIL_DATA": str(project / "data"), "PYTHONPATH": str(PROJECT / "src")}
    done = subprocess.run(
        [sys.executable, str(project / "benchmarks" / "open" / "run.py"), "--splits", "1", "--no-attacks", *arguments],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_strangers_method_gets_its_row_by_adding_one_file(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copy / "benchmarks" / "open" / "methods"
    for name, text in METHODS.items():
        (folder / f"{name}.py").write_text(text if text.startswith('"""') else f'"""One that {name}."""\n\n{text}')
    wanted = ("--methods", "real,popular,stranger,fails,crashes,refuses", "--thin", "200")
    said = run(copy, "--data", "anime,beauty", *wanted)
    assert "beauty: left out, beauty/clicks.parquet is not there" in said
    assert "[1/8, " in said and "0 of 8 are there already" in said
    assert "the other 8: about 0 CPU minutes" in said and "8 were never run and are not in it" in said
    document = json.loads((copy / "docs" / "kept" / "open" / "anime.json").read_text())
    cells = {(c["method"], c["epsilon"]): c for c in document["cells"]}
    assert [e for m, e in cells if m == "stranger"] == [1.0, 4.0, 8.0]
    assert 0.2 < cells["stranger", 4.0]["figures"]["best recall@20"] != cells["real", None]["figures"]["best recall@20"]
    assert cells["fails", None]["reason"] == "ValueError: a plain bug"
    assert cells["crashes", None]["reason"].startswith("ended with exit code 3")
    assert (cells["refuses", None]["status"], cells["refuses", None]["reason"]) == ("refused", "too few people")
    assert cells["real", None]["gb"] > 0 and "numpy" in document["libraries"] and len(document["files"]) == 2
    again = run(copy, "--data", "anime", *wanted)
    assert "8 of 8 are there already" in again
    monkeypatch.setattr(open_results, "PROJECT", copy)
    open_results._now.cache_clear()
    page = dict(open_benchmark.pages(copy / "docs" / "kept"))["open/anime.md"]
    (row,) = (line for line in page.splitlines() if line.startswith("| stranger, epsilon 4 "))
    assert f"{cells['stranger', 4.0]['figures']['best recall@20']:.3f} (one split)" in row
    assert "- failed: ValueError: a plain bug: fails." in page and "- refused: too few people: refuses." in page
    empty = [line for line in page.splitlines() if line.startswith("- not run yet: ")]
    assert any("dp-streams;" in line for line in empty) and any("it wants a GPU" in line for line in empty)
    assert "Thinned" in page and "Old:" not in page
    (folder / "stranger.py").write_text(METHODS["stranger"] + "\n# another version\n")
    open_results._now.cache_clear()
    page = dict(open_benchmark.pages(copy / "docs" / "kept"))["open/anime.md"]
    changed = "; ".join(f"stranger, epsilon {e}" for e in (1, 4, 8))
    assert f"Old: files that these figures hang on have changed since: {changed}." in page
    late = run(copy, "--data", "anime", "--methods", "stranger", "--thin", "200", "--limit", "0.1")
    assert "ran out of time" in late  # the old one is run again, and has no time
    said = run(copy, "--data", "anime", "--methods", "mbrw,stranger", "--epsilons", "4", "--leave-out", "no machine")
    assert "anime 0: 1 left out, no machine" in said  # the other one has a reason of its own
    page = dict(open_benchmark.pages(copy / "docs" / "kept"))["open/anime.md"]
    assert "- left out: no machine: mbrw." in page
    open_results._now.cache_clear()


def test_what_nobody_began_has_its_reason_and_older_figures_stay(room: Any, tmp_path: Path) -> None:
    document = room.results.Document(tmp_path, "one", {"rows": "abc"})
    document.about = {"files": {"rows": "abc"}}
    done = {"kind": "use", "method": "a", "epsilon": None, "split": 0, "status": "done", "figures": {}}
    left = [{**done, "method": name, "status": "left out", "reason": "no time"} for name in "ab"]
    document.put(done, {"a.py": "1"})
    document.leave([(cell, {"a.py": "2"}) for cell in left])
    again = room.results.Document(tmp_path, "one", {"rows": "abc"})
    assert [(c["method"], c["status"]) for c in again.content["cells"]] == [("a", "done"), ("b", "left out")]
    assert again.has(("use", "a", None, 0), {"a.py": "1"}, None)
    assert not again.has(("use", "a", None, 0), {"a.py": "2"}, None)
    assert not again.has(("use", "b", None, 0), {"a.py": "2"}, None)


def test_what_a_run_will_take_is_told_by_what_such_cells_took(room: Any) -> None:
    def cell(method: str, epsilon: float | None, seconds: float, status: str = "done") -> dict[str, Any]:
        about = {"kind": "use", "method": method, "epsilon": epsilon, "status": status}
        return about | {"cpu_s": seconds, "judging_cpu_s": 10.0} if status == "done" else about

    cells = [cell("a", 1.0, 20.0), cell("a", 4.0, 50.0), cell("b", None, 0.0, "refused"), cell("c", None, 0, "failed")]
    jobs = [("use", "a", 4.0), ("use", "a", 8.0), ("use", "b", None), ("use", "c", None), ("attack", "a", 4.0)]
    works = [room.plan.Work("one", split, tuple(jobs)) for split in range(3)]
    told = room.plan.estimate(works, {"one": cells}, workers=2)
    each = 60 + 45 + room.plan.BEGINNING  # the same cell; the mean of other epsilons; a refusal costs nothing
    assert (told.cpu, told.wall, told.unknown) == (3 * each, 2 * each, 6)
    assert room.plan.estimate([room.plan.Work("one", 0, ())], {"one": cells}, 2).cpu == 0


@pytest.mark.parametrize(
    "text", ['{"files": {"rows": "old"}, "cells": [], "code": {}}', '{"cells": []}', "half a docu"]
)
def test_results_of_other_files_or_an_older_form_are_put_aside_and_said(
    room: Any, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.json").write_text(text)
    document = room.results.Document(tmp_path, "one", {"rows": "abc"})
    assert document.content["cells"] == [] and (tmp_path / "one.old").read_text() == text
    assert "one.json is of other files or of an older form: made anew" in capsys.readouterr().out


def test_another_file_of_the_same_name_is_said_and_left_out(room: Any, tmp_path: Path) -> None:
    (tmp_path / "beauty").mkdir()
    pl.DataFrame({"user": [1]}).write_parquet(tmp_path / "beauty" / "clicks.parquet")
    assert "is another file: its hash begins" in room.data_sets.absent("beauty", tmp_path)
    assert "RECVEIL_DATA names the folder" in room.data_sets.absent("toys", tmp_path)


def test_documents_are_signed_as_they_are(room: Any, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text("{}\n")
    new_key(tmp_path / "key")
    name = room.results.sign(tmp_path, tmp_path / "key")
    assert room.results.signed(tmp_path) == {"one.json": name}
    assert (tmp_path / "public_key.pem").read_text().startswith("-----BEGIN PUBLIC KEY-----")
    (tmp_path / "open").mkdir()
    for file in tmp_path.glob("*.*"):
        shutil.copy(file, tmp_path / "open")
    assert open_benchmark._signer("one", tmp_path) == f"Signed by the key {name[:16]}."
    new_key(tmp_path / "another")
    room.results.sign(tmp_path, tmp_path / "another")
    shutil.copy(tmp_path / "public_key.pem", tmp_path / "open")
    assert "which is not the one in" in open_benchmark._signer("one", tmp_path)
    (tmp_path / "one.json").write_text('{"changed": true}\n')
    assert room.results.signed(tmp_path) == {}


def made_up(people: int = 400, items: int = 60, often: float = 1.0) -> Interactions:
    rng = np.random.default_rng(5)
    taste = rng.integers(0, 3, people)
    likely = often / (1 + np.arange(items)) * np.where(np.arange(items) % 3 == taste[:, None], 6.0, 1.0)
    user, item = np.nonzero(rng.random((people, items)) < np.minimum(likely, 0.9 * often))
    return from_ids(pl.Series(user), pl.Series(item))


def test_ease_over_many_items_is_ease(room: Any) -> None:
    from recveil.evaluation.recommenders.ease import EASE

    rows = made_up(4000, 300, 0.2)  # sparse, as what has very many items is
    X = rows.matrix(binary=True)
    exact = EASE(200.0).fit(rows, 0).scores(rows, X[:50], np.arange(50))
    near = room.judges.large_ease(X, 200.0).scores(rows, X[:50], np.arange(50))
    unseen = X[:50].toarray() == 0
    assert np.corrcoef(exact[unseen], near[unseen])[0, 1] > 0.999
    both = np.argsort(-np.where(unseen, exact, -9), 1)[:, :5], np.argsort(-np.where(unseen, near, -9), 1)[:, :5]
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(*both, strict=True)]) > 4.5


def test_dpals_counts_each_person_within_what_is_accounted(room: Any) -> None:
    dpals, how = room.dpals, room.dpals.Settings(most=4, d=6)
    X = dpals.sampled(made_up().matrix(binary=True), how.most, np.random.default_rng(0))
    assert np.diff(X.indptr).max() == how.most
    V = np.random.default_rng(1).normal(0, 1, (X.shape[1], how.d))
    U = dpals.people_from(X, V, how)
    assert np.linalg.norm(U, axis=1).max() <= 1 + 1e-9

    def sums(people: Any) -> tuple[Any, Any]:
        squares = np.einsum("ua,ub->uab", U[people], U[people]).reshape(len(people), -1)
        return X[people].T @ U[people], X[people].T @ squares

    everybody = sums(np.arange(len(U)))
    for person in range(20):
        others = sums(np.delete(np.arange(len(U)), person))
        for whole, part in zip(everybody, others, strict=True):
            assert np.linalg.norm(whole - part) <= np.sqrt(how.most) + 1e-9
    noise = room.dpals.symmetric(np.random.default_rng(2), 4000, 3)
    assert np.allclose(noise, noise.transpose(0, 2, 1))
    assert noise[:, 0, 0].std() == pytest.approx(1, abs=0.05) and noise[:, 0, 1].std() == pytest.approx(
        0.5**0.5, abs=0.05
    )


def test_dpals_spends_what_it_says(room: Any) -> None:
    dp = pytest.importorskip("dp_accounting")
    pld = import_module("dp_accounting.pld")
    dpals = room.dpals
    noise = dpals.noise_for(4.0, 1e-6)
    rounds = 3
    parts = [dpals.COUNTS, *[p / rounds for p in (dpals.SUMS, dpals.SQUARES, dpals.ALL)] * rounds]
    accountant = pld.PLDAccountant()
    accountant.compose(dp.ComposedDpEvent([dp.GaussianDpEvent(noise / part**0.5) for part in parts]))
    assert accountant.get_epsilon(1e-6) == pytest.approx(4.0, rel=0.02)


def test_a_figure_of_fewer_splits_than_its_row_says_so() -> None:
    assert open_results.among([0.25], 3) == "0.250 (one split)"
    assert open_results.among([0.2, 0.3], 3) == "0.250 (0.200, 0.300) (two splits)"
    assert open_results.among([0.25], 1) == "0.250" and open_results.among([], 3) == "-"
    assert "±" in open_results.among([0.2, 0.3, 0.4], 3) and "split" not in open_results.among([0.2, 0.3, 0.4], 3)


@pytest.mark.extras
@pytest.mark.usefixtures("room")
def test_each_persons_gradient_is_cut_by_itself_whatever_padding_is_left_out() -> None:
    torch = pytest.importorskip("torch")
    gpu = import_module("gpu")
    rng = np.random.default_rng(3)
    starts = np.append(0, np.cumsum(rng.integers(1, 20, 30)))
    rows = torch.from_numpy(gpu.framed(starts, rng.integers(0, 40, starts[-1]), 40, 50))
    torch.manual_seed(0)
    net = gpu.networks.Attention(41, gpu.Recipe(width=16).settings()).eval()
    values = {name: p.detach() for name, p in net.named_parameters()}
    whole = dict.fromkeys(values, 0.0)
    for row in rows:
        net.zero_grad()
        gpu.loss_of(net(row[None, :-1]), net.item.weight, row[None, 1:], 41).backward()
        found = {name: p.grad.clone() for name, p in net.named_parameters()}
        norm = float(torch.stack([g.norm() for g in found.values()]).norm())
        whole = {name: whole[name] + g / max(1.0, norm) for name, g in found.items()}
    for name, total in gpu.clipped(net, 41)(values, rows).items():
        assert torch.allclose(total, whole[name], atol=1e-5)
    begins, item = gpu.drawn(net, 40, gpu.Recipe(width=16, length=6), 50, 0, "cpu")
    assert len(begins) == 51 and np.diff(begins).min() >= 1 and np.diff(begins).max() <= 6 and item.max() < 40


@pytest.mark.data
@pytest.mark.parametrize(("name", "printed"), [("beauty", 0.0152), ("toys", 0.0113)])
def test_printed_figures_of_the_most_popular_are_reached(room: Any, name: str, printed: float) -> None:
    """To the digit where the counts hold the items that are asked for; honest ones are lower."""
    if room.data_sets.absent(name, DATA):
        pytest.skip("needs the real data sets: RECVEIL_DATA, or ../shared/data beside the project")
    rows = room.data_sets.load(name, DATA).rows.ordered()
    _, _, asked = room.protocols.last(rows, np.random.default_rng(0))
    ends = rows.starts()[1:]
    last = np.zeros(len(rows), dtype=bool)
    last[ends - 1] = True
    assert len(asked) == 2 * room.protocols.TEST
    found = {}
    for what, counted in (("with the answers", rows), ("without", rows.take(~last))):
        count = np.bincount(counted.item, minlength=rows.n_items).astype(np.float64)
        top = np.argsort(-count, kind="stable")[:200]
        seen = rows.take(~last).matrix(binary=True)[:, top].toarray() > 0
        rank = np.cumsum(~seen, axis=1)
        hit = (top[None, :] == rows.item[ends - 1][:, None]) & ~seen & (rank <= 10)
        found[what] = hit.any(axis=1).mean()
    assert found["with the answers"] == pytest.approx(printed, abs=0.00006)
    assert found["without"] < printed - 0.001


def test_kept_results_can_be_used_and_are_signed(room: Any) -> None:
    found = open_benchmark.results()
    assert found and not kept.faults("open")
    signed = room.results.signed(kept.KEPT / "open")
    assert {f"{one.name}.json" for one in found} == set(signed) and len(set(signed.values())) == 1
    for one in found:
        assert "is not the one" not in open_benchmark._signer(one.name, kept.KEPT)
    for one in found:
        assert one.content["files"] == room.data_sets.SETS[one.name].files
        assert not one.thinned
        assert {m for m, _ in one.rows()} >= set(open_benchmark.CONTROLS)
