"""The shape of the project: who may import whom, what is public, what is documented."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import recveil as package

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "src" / "recveil"

# Every room and every module of the root, with what it may import. What is not listed here may not exist.
ROOT = {
    "data",
    "errors",
    "guarantee",
    "ids",
    "intervals",
    "items",
    "measurement",
    "mechanism",
    "options",
    "parameters",
    "randomness",
    "samples",
    "scales",
    "splits",
}
PLAIN = {"errors", "ids", "options"}
ROWS = {"data", "items", *PLAIN}
SHAPES = {"views", "kernels", *ROWS}
MEASURES = {"measurement", "intervals", "splits", "randomness", *SHAPES}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "ids": set(),
    "options": set(),
    "parameters": {"errors"},
    "kernels": set(),
    "data": PLAIN,
    "guarantee": PLAIN,
    "intervals": PLAIN,
    "items": PLAIN,
    "randomness": PLAIN,
    "samples": {"kernels", *ROWS},
    "scales": PLAIN,
    "splits": ROWS,
    "formats": {"scales", *ROWS},
    "measurement": ROWS,
    "mechanism": {"guarantee", "parameters", "randomness", *ROWS},
    "views": {"randomness", "kernels", *ROWS},
    "dp": {"kernels", "randomness", *PLAIN},
    "clicks": {"kernels", *ROWS},
    "mechanisms": {"mechanism", "guarantee", "randomness", "dp", "scales", *SHAPES},
    "evaluation.recommenders": SHAPES,
    # A ceiling is a promise's; lists are a model's.
    "evaluation.attacks": {"guarantee", "evaluation.recommenders", *MEASURES},
    "evaluation.metrics": {"evaluation.recommenders", *MEASURES},
    "web": PLAIN,
    "report": {"formats", "guarantee", "measurement", "web", *PLAIN},
}
# The way of a release: made, judged, on a cluster too, decided; what an owner does; and the faces, which nobody below
# imports. Each line holds those above it and no other: no cycle, not even through an import inside a function.
RELEASES = {*ALLOWED, "mechanisms", "releases", "recveil"}
SERIES = {*RELEASES, "series"}
EVALUATION = {*RELEASES, "evaluation", "evaluation.tuning", "evaluation.audit"}
SPARK = {*EVALUATION, "spark"}
GOVERNANCE = {*SPARK, "governance"}
ACTIONS = {*GOVERNANCE, "actions"}
ALLOWED |= {
    "releases": RELEASES,
    "series": SERIES,
    "evaluation": EVALUATION,
    "evaluation.tuning": EVALUATION,
    "evaluation.audit": EVALUATION,
    "spark": SPARK,
    "governance": GOVERNANCE,
    "actions": ACTIONS,
    "court": EVALUATION,
    "api": {*ACTIONS, "court", "series"},
    "desk": set(),
    "desk.project": {*ACTIONS, "court", "series"} - {"spark"},
    "desk.pages": {"desk.project", "errors", "web", "recveil"},
    "advisor": {*RELEASES, "web"},
    "papers": EVALUATION,
    "cli": {*ACTIONS, "court", "series", "advisor", "desk.pages", "desk.project", "papers", "web"},
    "recveil": {*ACTIONS, "api", "court", "series"},
    "__main__": {"cli"},
}
# Through whatever chain of imports: an attacker sees the release, a report sees measurements, a mechanism sees neither.
NEVER_REACH = {
    "evaluation.attacks": {"mechanism", "mechanisms", "releases", "evaluation", "evaluation.metrics"},
    "evaluation.metrics": {"mechanism", "mechanisms", "releases", "evaluation", "evaluation.attacks"},
    "evaluation.recommenders": {
        "mechanism",
        "mechanisms",
        "releases",
        "evaluation",
        "evaluation.attacks",
        "evaluation.metrics",
    },
    "report": {
        "mechanism",
        "mechanisms",
        "releases",
        "evaluation",
        "evaluation.attacks",
        "evaluation.metrics",
        "evaluation.recommenders",
    },
    "mechanisms": {
        "evaluation",
        "evaluation.attacks",
        "evaluation.metrics",
        "evaluation.recommenders",
        "measurement",
        "report",
        "releases",
    },
    "kernels": {"data", "errors"},
}
# What a noun's own .save() and repr need: the only imports that go back, inside a function.
SHOWS_ITSELF = {
    ("releases.release", "releases.bundle"),
    ("report.table", "report.html"),
    ("report.table", "report.verdict"),
}
# Where a measure is picked by its name: as a headline that a page or sheet shows, a bound in an owner's words, or the
# statistic that a cluster counts. What a measure is (attack, criterion, weak) its entry says, and nobody else.
PICKS_A_MEASURE = {
    "desk/project/frontier.py": "the axes of the picture",
    "desk/project/solving.py": "bounds in an owner's words",
    "desk/project/views.py": "the first number of a candidate",
    "governance/evidence.py": "the numbers that criteria of a sheet are about",
    "governance/use_kept.py": "the uses that an officer wishes",
    "report/figures.py": "the curve",
    "report/sheets.py": "a sheet's three numbers",
    "spark/measure.py": "what a cluster counts for each",
}
BANNED_NAMES = {"utils", "core", "helpers", "base", "manager", "factory", "common", "misc"}
# Rooms whose files are entries of a catalogue, steps of an engine or parts of a page: one importer is right there.
CATALOGUES = {
    "kernels",
    "mechanisms",
    "evaluation.metrics",
    "evaluation.attacks",
    "evaluation.recommenders",
    "spark",
    "papers",
    "cli",
    "report",
    "web",
    "advisor",
    "desk.pages",
    "desk.project",
    "evaluation.audit",
    "actions",
}
STEPS_OF_THEIR_OWN = {
    "evaluation.warming": "a second process compiles what the demo needs later",
    "clicks": "the people's side: a room without a list",
    "evaluation.compare": "several mechanisms on the same people",
    "evaluation.candidates": "what is compared, beside how",
    "releases.card": "the bundle's README",
    "parameters": "what the fields of a mechanism are",
    "actions.clicks": "the request behind recveil clicks",
    "evaluation.command": "another tool as a maker of releases",
    "desk.direct": "lists straight from published tables",
    "evaluation.estimate": "what a comparison costs, before it starts",
    "governance.evidence": "what a decision rests on",
    "governance.sheet": "what the officer reads",
    "governance.decision_card": "what was decided, beside the card",
    "governance.dossier": "what travels between owner and officer",
    "governance.use_kept": "use against the wish, the other half of a decision",
    "releases.agent": "keys of an SSH agent",
    "releases.token": "keys on a token",
    "governance.export": "bundles for the tools of others",
    "releases.local": "the local engine",
    "releases.disk_release": "the same out of core",
    "actions.publish_disk": "publish for a log that memory does not hold",
    "evaluation.losses": "what a release has lost, in words",
    "actions.next_steps": "what to type next",
    "evaluation.people": "what people are, as questions",
    "evaluation.predict": "ratings straight from the tables of a bundle",
    "actions.compare": "compare, as a request",
    "actions.publish_spark": "the same by a cluster",
    "actions.publish": "from data to a bundle, as a request",
    "governance.trust": "whose keys count, for whoever verifies",
    "governance.verification": "what verify checks beyond hashes",
    "api.court": "the Python face of courts",
    "api.series": "the Python face of series",
    "series.carrying": "what earlier windows tell the next",
    "series.erasing": "a person who leaves",
    "series.participation": "who counts in a window",
    "series.showing": "where a series stands",
    "series.verifying": "what verify checks over all windows",
    "series.releasing": "the windows that are due",
    "series.opening": "a new series, a new period",
    "court.challenge": "what participants get",
    "court.validate": "the validator that they get",
    "court.network": "networks, in a process of their own",
    "court.runner": "that process: started by its path",
    "court.submissions": "what a file holds",
    "dp.choice": "a noisy choice, apart from what it chooses among",
    "dp.continual": "the noise of counters that go on",
    "dp.sparse_noise": "noise on tables that are mostly empty",
    "api.deciding": "the Python face: decisions",
    "api.fitting": "the Python face: fit and sample, inspect",
    "api.functions": "the Python face",
    "api.judging": "the Python face: promises, parameters, lists",
    "api.ratings": "the Python face of rating prediction",
    "formats.frames": "frames and matrices, beside files",
    "formats.item_file": "the public file of items",
    "formats.databases": "tables of databases and lakes",
    "formats.matrices": "matrices as tables of their entries",
    "formats.times": "times, whatever their type",
    "formats.reading": "from a file to Interactions",
    "formats.overview": "what a file was taken for",
    "formats.sniffing": "how a file of unknown making is written",
    "evaluation.assess_parts": "the same out of core",
    "releases.batches": "a log that never stands in memory, read",
    "evaluation.measure_parts": "the same out of core",
    "evaluation.compare_parts": "the same out of core",
    "actions.measure_disk": "the same out of core",
    "evaluation.tuning.bounds": "a tuner",
    "evaluation.tuning.usefulness": "a tuner",
}
# A file over 300 lines, a function over 60 lines or with more than 8 parameters, and why.
LONG_FILES = {
    "data.py": "the one dataset type with all its views of itself",
    "advisor/applying.py": "one transaction from its batch to its answers",
}
LONG_FUNCTIONS = {
    "evaluation/attacks/linkage.py:linkage": "what an attacker knows has many dimensions, each with a default",
    "evaluation/attacks/sybil.py:sybil": "the same",
    "evaluation/attacks/sybil.py:_of_others": "the same, handed on",
    "evaluation/compare.py:compare": "what a comparison is made of, each with a default; CompareRequest bundles it",
    "evaluation/measure.py:measure_release": "public since the first version; MeasureRequest is its successor",
    "mechanisms/mbrw/walks.py:_walk": "the arguments of its kernel, by name",
    "report/figures.py:frontier": "one chart, layer by layer",
    "papers/clicks/experiments.py:knn_attack": "an experiment of the paper with all its settings",
    "spark/reading.py:read_table": "the arguments of formats.read, and public items",
    "spark/release.py:release_table": "what release and save take together",
    "advisor/connections.py:bounded": "one protocol, state by state",
}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip(".")


def room_of(module: str) -> str:
    """The innermost listed room: evaluation.attacks is one of its own in evaluation."""
    inner = ".".join(module.split(".")[:2])
    return inner if inner in ALLOWED and "." in inner else module.partition(".")[0] or "recveil"


def imports(path: Path) -> set[str]:
    """The modules of ours that a file imports, wherever in it; what only a type checker reads does not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        node
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and getattr(test.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "recveil":
            base = node.module.removeprefix("recveil").lstrip(".")
            found |= {full if (full := f"{base}.{a.name}".lstrip(".")) in MODULES else base for a in node.names}
        elif isinstance(node, ast.Import):
            ours = [a.name for a in node.names if a.name.partition(".")[0] == "recveil"]
            found |= {name.removeprefix("recveil").lstrip(".") for name in ours}
    return found


sources = sorted(p for p in PACKAGE.rglob("*.py") if "migrations" not in p.parts)
MODULES = {module_of(p): p for p in sources}
GRAPH = {module: imports(path) for module, path in MODULES.items()}


def reached(module: str) -> set[str]:
    """Every module that importing this one may load, through any chain; packages load their __init__."""
    seen, todo = set(), [module]
    while todo:
        here = todo.pop()
        if here not in seen and here in GRAPH:
            seen.add(here)
            todo += GRAPH[here]
    return seen - {module}


def test_every_module_is_in_a_listed_room() -> None:
    rooms = {room_of(module) for module in MODULES}
    assert rooms == set(ALLOWED), rooms ^ set(ALLOWED)
    at_root = {p.stem for p in PACKAGE.glob("*.py")}
    assert at_root == ROOT | {"__init__", "__main__"}


@pytest.mark.parametrize("module", sorted(MODULES), ids=lambda m: m or "recveil")
def test_imports_point_one_way(module: str) -> None:
    here = room_of(module)
    outside = {room_of(target) for target in GRAPH[module]} - {here}
    assert outside <= ALLOWED[here], f"{module} imports {sorted(outside - ALLOWED[here])}"


@pytest.mark.parametrize("room", sorted(NEVER_REACH))
def test_no_chain_of_imports_leads_where_a_room_must_not_look(room: str) -> None:
    for module in (m for m in MODULES if room_of(m) == room):
        wrong = {target for target in reached(module) if room_of(target) in NEVER_REACH[room]}
        assert not wrong, f"{module} reaches {sorted(wrong)}"


def test_the_fences_stop_a_planted_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GRAPH, "views.records", {*GRAPH["views.records"], "mechanisms.mask"})
    assert any("mechanisms.mask" in reached(module) for module in MODULES if room_of(module) == "evaluation.attacks")


def test_no_module_imports_in_a_circle() -> None:
    """Not through any chain, of any room, nor inside functions."""
    free = {m: {t for t in targets if (m, t) not in SHOWS_ITSELF} for m, targets in GRAPH.items()}
    done: set[str] = set()

    def walk(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way[way.index(module) :], module))
        if module not in done:
            for target in free[module] & free.keys() - {module}:
                walk(target, (*way, module))
            done.add(module)

    for module in free:
        walk(module, ())


def asked_for(tree: ast.AST, names: set[str], classes: set[str] = frozenset()) -> set[str]:  # type: ignore[assignment]
    """Names that code compares with, looks up in a table of its own, or whose class it tests."""

    def texts(node: ast.AST | None) -> list[str]:
        parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
        return [str(part.value) for part in parts if isinstance(part, ast.Constant)]

    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            found += [text for side in (node.left, *node.comparators) for text in texts(side)]
        elif isinstance(node, ast.Dict):
            found += [text for key in node.keys for text in texts(key)]
        elif isinstance(node, ast.MatchValue):
            found += texts(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("startswith", "endswith"):
            found += [text for given in node.args for text in texts(given)]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            tested = [getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.args[1])]
            found += [name for name in tested if name in classes]
    return {text for text in found if text in names | classes}


def test_nobody_asks_for_a_mechanism_or_a_measure_by_name() -> None:
    from recveil.evaluation.catalogue import MEASURES
    from recveil.mechanisms import known_mechanisms

    names, classes = set(known_mechanisms()), {one.__name__ for one in known_mechanisms().values()}
    measures = set(MEASURES) - {"exposure", "items", "lists", "neural", "popularity", "ratings", "tags"}  # words, too
    picking = set()
    for module, path in MODULES.items():
        tree, name = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(PACKAGE).as_posix()
        if room_of(module) not in ("mechanisms", "papers"):
            assert not (found := asked_for(tree, names, classes)), f"{name} asks for {sorted(found)}"
        if not name.startswith(("evaluation/", "papers/", "mechanisms/")) and asked_for(tree, measures):
            picking.add(name)
    assert picking == set(PICKS_A_MEASURE)


@pytest.mark.parametrize(
    "line",
    [
        'spec.startswith(("mask", "x"))',
        'name == "mbrw"',
        'name in ("blur",)',
        '{"mask": 1}',
        "isinstance(m, Mask | int)",
    ],
)
def test_a_planted_question_for_a_mechanism_is_found(line: str) -> None:
    assert asked_for(ast.parse(line), {"mask", "mbrw", "blur"}, {"Mask"})


def test_a_module_that_one_other_imports_is_a_step_of_its_own() -> None:
    importers = {m: {n for n, targets in GRAPH.items() if m in targets} for m in MODULES}
    alone = {
        m
        for m, by in importers.items()
        if len(by) < 2
        and room_of(m) not in {*CATALOGUES, "recveil", "__main__"}
        and MODULES[m].name != "__init__.py"
        and m.count(".") < 2  # a part of a folder is one
    }
    assert alone <= set(STEPS_OF_THEIR_OWN), sorted(alone - set(STEPS_OF_THEIR_OWN))


@pytest.mark.parametrize("path", sources, ids=[str(p.relative_to(PACKAGE)) for p in sources])
def test_one_idea_per_file(path: Path) -> None:
    assert path.stem not in BANNED_NAMES
    text, name = path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).as_posix()
    assert len(text.splitlines()) <= 300 or name in LONG_FILES
    if name.startswith(("kernels/", "cli/")):  # numba, and commands, whose options are parameters
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            length = (node.end_lineno or 0) - node.lineno + 1
            if name.startswith("api/"):  # what people type: each keyword is a parameter, with its line of help
                length -= len((ast.get_docstring(node) or "").splitlines())
                given = []
            small = length <= 60 and len(given) - (given[:1] == ["self"]) <= 8
            assert small or f"{name}:{node.name}" in LONG_FUNCTIONS, (
                f"{node.name}: {length} lines, {len(given)} parameters"
            )


def test_no_eleven_lines_stand_twice() -> None:
    seen: dict[tuple[str, ...], str] = {}
    for path in sources:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        body = [line for line in lines if not re.fullmatch(r"(from|import) .*|[\w, ]+,|\W*", line)]
        for begin in range(len(body) - 10):
            here = f"{path.relative_to(PACKAGE)}, line {begin} of its code: {body[begin]}"
            assert seen.setdefault(tuple(body[begin : begin + 11]), here) == here


def test_public_names_are_listed_and_exist() -> None:
    assert len(set(package.__all__)) == len(package.__all__)
    assert set(package.__all__) == {name for names in package._ROOMS.values() for name in names}
    for name in package.__all__:
        assert getattr(package, name).__doc__, f"{name} has no docstring"
    with pytest.raises(AttributeError):
        package.nothing_of_the_kind  # noqa: B018


def test_the_command_line_starts_without_heavy_imports() -> None:
    heavy = ["numpy", "polars", "numba", "scipy", "pyarrow", "opendp", "randomgen"]
    code = f"import sys, recveil.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


REFUSED = (
    "inspect no-such.csv",
    "assess no-such.csv",
    "clicks no-such.csv",
    "compare no-such.csv --with pseudonymise",
    "measure no-such.csv no-such",
    "tune no-such.csv --with mask --keep lift>=0.5",
    "recommend no-such.csv --with mask -o lists.csv",
    "decide no-such --recipient public",
    "verify no-such",
    "judge score no-such no-such.csv",
)


def test_a_release_loads_no_attacker_and_no_refusal_the_compiler(tmp_path: Path) -> None:
    """In one process, one after the other: what any of them had loaded would be there at the end."""
    (tmp_path / "log.csv").write_text("user,item\n1,2\n1,3\n2,2\n", encoding="utf-8")
    code = f"""
import sys
from recveil.cli.app import main
for line in {["inspect log.csv", "release log.csv --with pseudonymise -o out", *REFUSED]}:
    sys.argv = ["recveil", *line.split()]
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    assert bool(code) == (not line.split()[1] == "log.csv"), line
    assert "numba" not in sys.modules, line
    assert "scipy.special" not in sys.modules, line  # a quarter of a second
    attackers = [name for name in sys.modules if name.startswith("recveil.evaluation.attacks.")]
    assert not attackers or not line.startswith(("release", "inspect")), (line, attackers)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def commands() -> list[str]:
    from recveil.cli import app
    from recveil.cli.commands import Group

    return sorted(name for name, command in app.commands.items() if not isinstance(command, Group))


def test_every_command_stands_in_one_group_of_the_help(recveil: Callable[..., Any]) -> None:
    from recveil.cli.app import GROUPS, app

    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(app.commands)
    shown = recveil("--help").stdout
    assert all(f"{heading}:" in shown for heading in GROUPS)


@pytest.mark.parametrize("command", commands())
def test_every_command_is_helpful_and_documented(command: str, recveil: Callable[..., Any]) -> None:
    done = recveil(command, "--help")
    assert "Example: recveil" in done.stdout
    assert "--json" in done.stdout
    documented = (PROJECT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert f"## recveil {command}" in documented


def test_the_project_names_no_place_on_a_disk() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in tracked.stdout.split():
        path = PROJECT / name
        if path.suffix in (".md", ".py", ".toml", ".html", ".js", "") and path.is_file():
            text = path.read_text(encoding="utf-8")
            assert str(PROJECT) not in text, name


def test_a_noun_of_the_house_stands_for_one_thing() -> None:
    nouns = {"Table", "Plan", "Place", "Source", "Catalogue", "Model", "Release", "Bundle", "Engine", "Input", "Trial"}
    found: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            bound = [node.name] if isinstance(node, ast.ClassDef) else []
            if isinstance(node, ast.Assign):
                bound = [target.id for target in node.targets if isinstance(target, ast.Name) and target.id in nouns]
            for name in bound:
                found.setdefault(name, []).append(module)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
    assert found["Model"] == ["evaluation.recommenders.ranker"]


def known(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    above, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(above), last) or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("script", sorted((PROJECT / "benchmarks").rglob("*.py")), ids=lambda path: path.name)
def test_benchmarks_name_modules_that_exist_in_texts_too(script: Path) -> None:
    names = set(re.findall(r"\brecveil(?:\.[a-z_]+)+", script.read_text(encoding="utf-8")))
    assert [name for name in sorted(names) if not known(name)] == []
