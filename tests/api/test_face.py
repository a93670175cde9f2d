"""The Python face: every public function twice in one process, frames in and out, and wrong types as one clear line."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import recveil
from recveil import RecveilError
from recveil.mechanisms import MECHANISMS

PROJECT = Path(__file__).parents[2]
FILMS = "sample:films?users=80,items=60"
FEW = {"only": ["linkage"], "known": [2], "seed": 1}


def signing(folder: Path) -> Path:
    """A key, and a bundle to withdraw."""
    from recveil.releases.keys import new_key

    if not (folder / "any.key").exists():
        new_key(folder / "any.key")
        recveil.release(FILMS, "pseudonymise", seed=1).save(folder / "gone")
    return folder / "any.key"


def court(folder: Path) -> Path:
    """A court that exists, to be opened."""
    place = folder / "court"
    if not place.exists():
        wishes: dict[str, Any] = {"catalogue_is_public": True, "epsilon": 4, "seconds": 0}
        recveil.judge("sample:films?users=400,items=80", place, ledger=folder / "court.jsonl", **wishes)
    return place


def series(folder: Path) -> Path:
    place = folder / "shop.series"
    if not place.exists():
        settled = {"epsilon": 4.0, "delta": 1e-6, "participations": 26, "ledger": folder / "people.jsonl"}
        recveil.open_series(place, "dp-streams", **settled)
    return place


def calls(folder: Path) -> dict[str, Callable[[Any], Any]]:
    """A call of each public function, given the module or what `from recveil import *` binds."""
    data = recveil.read(FILMS)
    recveil.write(data, folder / "films.csv")
    if not (folder / "kept").exists():
        recveil.release(data, "pseudonymise", seed=1).save(folder / "kept")
        recveil.release(data, "dp-ratings:epsilon=100,delta=0.001,scale=1..5", seed=1).save(folder / "rated")
    return {
        "assess": lambda r: r.assess(data, known=(2,)),
        "attack": lambda r: r.attack(data, folder / "kept", **FEW),
        "audit": lambda r: r.audit(recveil.Pseudonymise(), runs=30, seed=1),
        "choose": lambda r: r.choose(
            data,
            ["pseudonymise", "mask:p=0.9"],
            epsilon=1,
            ledger=str(folder / "l"),
            stand_in=recveil.read(FILMS),
            seed=1,
        ),
        "choose_p": lambda r: r.choose_p(data, chance=recveil.randomness.seeded(1)),
        "compare": lambda r: r.compare(data, ["pseudonymise", recveil.Mask(0.9)], only=["linkage"]),
        "compose": lambda r: r.compose(recveil.Guarantee("Nothing."), recveil.Guarantee("Nothing.")),
        "concat": lambda r: r.concat([data, data]),
        "decide": lambda r: r.decide(folder / "kept", "team"),
        "deduplicate": lambda r: r.deduplicate(data),
        "fit": lambda r: r.fit(data, "dp-ratings", epsilon=100, delta=0.001, scale="1..5", seed=1),
        "from_csr": lambda r: r.from_csr(data.matrix()),
        "from_frame": lambda r: r.from_frame(data.frame()),
        "inspect": lambda r: r.inspect(data),
        "judge": lambda r: r.judge(court(folder)),
        "load": lambda r: r.load(folder / "kept"),
        "measure": lambda r: r.measure(data, folder / "kept", only=["popularity"]),
        "measure_release": lambda r: r.measure_release(data, data, measures={}),
        "open_series": lambda r: r.open_series(series(folder)),
        "parse": lambda r: r.parse("mask:p=0.9"),
        "predict": lambda r: r.predict(str(folder / "rated"), data, top=2),
        "read": lambda r: r.read(folder / "films.csv"),
        "recommend": lambda r: r.recommend(data, "mask:p=0.9", top=3, seed=1),
        "release": lambda r: r.release(data, "random-ratings", seed=1),
        "sample": lambda r: r.sample("films?users=20,items=60"),
        "save": lambda r: r.save(recveil.release(data, "pseudonymise", seed=1), folder / "again", force=True),
        "standing": lambda r: r.standing(folder / "kept"),
        "trial": lambda r: r.trial(data, data),
        "tune": lambda r: r.tune(FILMS, "mask", seed=1),
        "verify": lambda r: r.verify(folder / "kept"),
        "withdraw": lambda r: r.withdraw(folder / "gone", by=("A", "owner"), key=signing(folder), reason="why"),
        "write": lambda r: r.write(data, folder / "films.csv"),
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("face")


functions = [n for n in recveil.__all__ if not isinstance(getattr(recveil, n), type)]


@pytest.mark.parametrize("name", functions)
def test_every_public_function_works_twice_from_either_import(name: str, place: Path) -> None:
    call = calls(place)[name]
    call(recveil)
    bound: dict[str, Any] = {}
    exec(f"from recveil import {name}", bound)  # what a user types, after the submodules were imported
    assert callable(bound[name])
    call(type("Bound", (), {name: staticmethod(bound[name])}))
    assert getattr(recveil, name) is bound[name]


def test_what_a_user_of_pandas_tries_first(tmp_path: Path) -> None:
    """read, release with keywords, fit and sample, compare, to_pandas; and what is shown of each is short."""
    pytest.importorskip("pandas")
    frame = recveil.read("sample:films?users=300,items=80").frame().to_pandas()
    data = recveil.read(frame)
    made = recveil.release(frame, "dp-streams", epsilon=50, delta=1e-4, seed=1)
    declared = recveil.release(frame, "dp-streams", epsilon=50, people=300, seed=1)
    assert declared.mechanism.delta == 3e-4  # type: ignore[attr-defined]
    fitted = recveil.fit(frame, "dp-streams", epsilon=50, delta=1e-4, seed=1)
    drawn = fitted.sample(40, seed=2)
    assert drawn.data.n_users == 40 and list(drawn.to_pandas().columns) == ["user", "item", "time"]
    made.save(tmp_path / "out")
    bundle = recveil.load(tmp_path / "out")
    assert len(bundle.to_pandas()) == len(made.to_pandas())
    report = recveil.compare(frame, ["pseudonymise", "mask"], only=["linkage"])
    found = recveil.measure(frame, made, only=["popularity"])
    for shown in (data, made, made.published, fitted, bundle, report, found, recveil.assess(frame, known=(2,))):
        assert len(repr(shown)) < 3000 and repr(shown).count("\n") < 20, type(shown)
    assert recveil.inspect(frame)["users"] == 300
    with pytest.raises(recveil.RecveilError, match="delta"):
        recveil.release(frame, "dp-streams", epsilon=4)
    for name in dir(recveil):
        getattr(recveil, name)


def test_no_submodule_has_the_name_of_a_public_function() -> None:
    folder = Path(recveil.__file__).parent
    modules = {p.stem for p in folder.iterdir() if p.is_dir() or p.suffix == ".py"}
    assert not modules & set(recveil.__all__)
    for path in folder.rglob("*.py"):  # whatever is imported, the functions stay what they are
        if not {"migrations", "__main__.py"} & {path.name, *path.parts}:
            name = ".".join(["recveil", *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
            if path.stem != "networks" or importlib.util.find_spec("torch"):  # the one extra that the tests do without
                importlib.import_module(name)
    assert all(callable(getattr(recveil, name)) for name in recveil.__all__)


def test_tab_completion_shows_what_is_public() -> None:
    assert set(recveil.__all__) <= set(dir(recveil))
    assert "import_module" not in dir(recveil)


def test_every_mechanism_of_the_catalogue_is_public() -> None:
    """A new one is a file and a line of the catalogue: nothing else has to name it."""
    for made in MECHANISMS.values():
        assert getattr(recveil, made.__name__) is made and made.__name__ in dir(recveil)
    with pytest.raises(AttributeError):
        recveil.Nothing  # noqa: B018


def frames() -> dict[str, Any]:
    frame = recveil.read(FILMS).frame()
    return {
        "pandas": frame.to_pandas(),
        "polars": frame,
        "lazy": frame.lazy(),
        "arrow": frame.to_arrow(),
        "path": FILMS,
        "interactions": recveil.read(FILMS),
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "arrow", "path", "interactions"])
def test_every_frame_gives_the_same_release(kind: str) -> None:
    given = frames()[kind]
    first = recveil.release(given, "random-ratings", seed=3)
    assert first.frame().equals(recveil.release(FILMS, recveil.RandomRatings(), seed=3).frame())
    assert recveil.assess(given, known=(2,)) == recveil.assess(FILMS, known=(2,))


def test_a_scipy_matrix_is_data_too() -> None:
    matrix = sparse.random_array((60, 40), density=0.3, rng=np.random.default_rng(0), format="coo")
    assert len(recveil.release(matrix, "pseudonymise", seed=1).data) == matrix.nnz


def test_results_show_and_save_themselves(tmp_path: Path) -> None:
    data = recveil.read(FILMS)
    found = recveil.assess(data, known=(2,))
    made = recveil.release(data, recveil.Mask(0.9), seed=1)
    seen = recveil.attack(data, made, **FEW)
    report = recveil.compare(data, ["pseudonymise", made, recveil.Mask(0.9)], only=["linkage"])
    lists = recveil.recommend(data, recveil.Mask(0.9), top=3, seed=1)
    for shown in (found, seen, report, made, lists, made.guarantee):
        assert re.search(r"<(table|p|ul|div)\b", shown._repr_html_())
    for table in (found, seen, report, made, lists):
        assert isinstance(table.frame(), pl.DataFrame) and len(table.to_pandas()) == len(table.frame())
    found.save(tmp_path / "assess.json")
    seen.save(tmp_path / "attack.json")
    report.save(tmp_path / "report.json")
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("assess.json", "attack.json")} == {0o600}
    with pytest.raises(RecveilError, match=r"\.html or \.json"):
        report.save(tmp_path / "report.txt")
    made.save(tmp_path / "out")
    assert recveil.verify(tmp_path / "out")["mechanism"] == "mask"


def test_the_frontier_leaves_out_who_is_beaten_in_both() -> None:
    pytest.importorskip("implicit")
    report = recveil.compare("sample:films?users=300,items=80", ["pseudonymise", "random-ratings"], quick=True,
                             only=["linkage", "lift", "ranking"])  # fmt: skip
    table = report.frontier()
    assert table.columns[:3] == ["mechanism", "promise", "found"] and table.height == 2
    measured = table.drop_nulls("lift")
    best = measured.filter(pl.col("found") == pl.col("found").min())
    assert not measured.height or best["frontier"].any()


def test_releases_made_elsewhere_stand_beside_mechanisms(tmp_path: Path) -> None:
    data = recveil.read(FILMS)
    recveil.write(recveil.release(data, "pseudonymise").data, tmp_path / "other_tool.parquet")
    report = recveil.compare(data, ["random-ratings", tmp_path / "other_tool.parquet"], only=["linkage", "membership"])
    assert [e.spec for e in report.entries] == ["random-ratings", "other_tool.parquet"]
    assert report.entries[1].guarantee.status == "none"
    assert any("membership of other_tool.parquet: membership needs people" in line for line in report.skipped)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a list": (lambda: recveil.read([1, 2, 3]), "pandas.DataFrame"),
    "a number": (lambda: recveil.assess(7), "not a int"),
    "none": (lambda: recveil.release(None, "pseudonymise"), "data must be a path"),
    "no columns": (lambda: recveil.release(pl.DataFrame(), "pseudonymise"), "user"),
    "other columns": (lambda: recveil.read(pl.DataFrame({"a": [1], "b": [2]})), "user"),
    "a class": (lambda: recveil.release(FILMS, recveil.Mask), r"Mask is a class; write Mask\(\.\.\.\)"),
    "a class to compare": (lambda: recveil.compare(FILMS, [recveil.Pseudonymise]), "is a class"),
    "a number as mechanism": (lambda: recveil.release(FILMS, 4), "a mechanism is a spec such as"),
    "an unknown spec": (lambda: recveil.compare(FILMS, ["masc"]), "did you mean mask"),
    "a folder": (lambda: recveil.read(Path(__file__).parent), "unknown format 'py'"),
    "no bundle": (lambda: recveil.attack(FILMS, "nowhere"), "no such directory"),
    "an unknown attack": (lambda: recveil.attack(FILMS, "nowhere", only=["linkag"]), "did you mean linkage"),
    "a number as release": (lambda: recveil.measure(FILMS, 7), "data must be"),
    "a catalogue": (lambda: recveil.release(FILMS, "pseudonymise", catalogue=7), "public items are a table"),
    "a keyword that nobody has": (lambda: recveil.compare(FILMS, ["mask"], shadow=3), "did you mean shadows"),
    "a file of items twice": (lambda: recveil.release(FILMS, "mask", items=[1], features=[1]), "one public file"),
    "an object to tune": (lambda: recveil.tune(FILMS, recveil.Mask()), "the name of a mechanism"),
    "what cannot be tuned": (lambda: recveil.tune(FILMS, "pseudonymise"), "unknown mechanism to tune"),
    "nothing to learn from": (lambda: recveil.recommend(FILMS, "pseudonymise"), "mechanism to recommend with"),
    "columns of rows": (lambda: recveil.assess(recveil.read(FILMS), columns="user=a"), "leave columns out"),
    "measures of a trial": (lambda: recveil.measure(recveil.trial(*[recveil.read(FILMS)] * 2), 7), "functions by"),
}


@pytest.mark.parametrize("case", sorted(WRONG))
def test_a_wrong_type_is_a_line_with_the_remedy(case: str) -> None:
    call, line = WRONG[case]
    with pytest.raises(RecveilError, match=line) as fault:
        call()
    assert len(str(fault.value).splitlines()) == 1


EXPLAINED = (
    "assess attack audit choose compare decide judge measure open_series predict read recommend release standing tune "
    "withdraw"
)


@pytest.mark.parametrize("name", EXPLAINED.split())
def test_examples_of_docstrings(name: str) -> None:
    function = getattr(recveil, name)
    found = doctest.DocTestFinder().find(function, name, globs={"recveil": recveil})
    assert found[0].examples, f"{name} has no example"
    others = signature(recveil.measure).parameters if "are those of `measure`" in function.__doc__ else ()
    for parameter in signature(function).parameters.keys() - others:
        assert re.search(rf"^    {parameter}: ", function.__doc__, re.M) or f"`{parameter}`" in function.__doc__
    runner = doctest.DocTestRunner()
    for test in found:
        runner.run(test)
    assert not runner.failures


def blocks(language: str) -> list[tuple[str, str]]:
    """The code blocks of README and docs in this language, each with the name of its file and its line.

    Those of tutorials and how-to pages belong together: test_tutorials.py runs them in their order.
    """
    found = []
    pages = [p for p in sorted((PROJECT / "docs").rglob("*.md")) if p.parent.name not in ("tutorials", "howto")]
    for path in [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *pages]:
        text = path.read_text(encoding="utf-8")
        found += [
            (f"{path.name}:{text[: block.start()].count(chr(10)) + 2}", block[1])
            for block in re.finditer(rf"^```{language}\n(.*?)^```", text, re.M | re.S)
        ]
    return found


@pytest.mark.parametrize(("where", "code"), blocks("python"), ids=[where for where, _ in blocks("python")])
def test_python_of_the_documentation_runs(
    where: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recveil.write(recveil.read("sample:films?users=150,items=80"), "ratings.csv")
    for _ in range(2):  # a notebook's cell is run again
        for made in ("out", "report.html"):
            path = tmp_path / made
            if path.is_dir():
                path.rename(tmp_path / f"{made}.before")
        exec(compile(code, where, "exec"), {})


COMMANDS = re.findall(r"^    \.venv/bin/recveil ((?!serve).*)$", (PROJECT / "README.md").read_text("utf-8"), re.M)


def test_commands_of_the_readme_run_one_after_the_other(recveil: Callable[..., Any], tmp_path: Path) -> None:
    import recveil as package

    package.write(package.read("sample:films?users=150,items=80"), tmp_path / "ratings.csv")
    assert len(COMMANDS) >= 5
    for line in COMMANDS:
        words = shlex.split(line.partition("#")[0])
        recveil(*words, *(["--quick"] if words[0] == "compare" else []))


@pytest.mark.slow
def test_without_asserts_the_demo_works(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-O", "-m", "recveil", "demo", "-o", str(tmp_path / "demo")],
        capture_output=True, text=True, check=False, env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").is_file()


@pytest.mark.parametrize("name", [n for n in functions if getattr(recveil, n).__module__.startswith("recveil.api")])
def test_every_keyword_is_in_the_signature(name: str) -> None:
    free = [p.name for p in signature(getattr(recveil, name)).parameters.values() if p.kind is p.VAR_KEYWORD]
    assert free in ([], ["parameters"])  # those of a mechanism, which owns them
