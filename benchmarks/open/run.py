"""The open benchmark: every method on every data set, into docs/kept/open; what is there already is not run again.

    python benchmarks/open/run.py                     the light methods on all data sets (make open-benchmark)
    python benchmarks/open/run.py --data anime --methods dpals,real --splits 1
    python benchmarks/open/run.py --add-method FILE   a file of your own beside those of methods/

A method that fails, refuses or runs out of time is a row with its reason. A data set that is missing, or has another
hash, is said and left out. A split is a process of its own with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from data_sets import SETS, absent, load
from plan import Job, Work, estimate, planned
from protocols import DELTA, EPSILONS, PROTOCOLS, SPLITS
from results import HERE, KEPT, LEFT_OUT, Cell, Document, code_of, methods, sign, write_json

ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "NUMBA")


def done_by(work: Work, limit: float, thin: int | None) -> Iterator[Cell]:
    """Cells as they come. One that does not come in time, or whose process ends, has the reason; then a new process."""
    environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in ONE_THREAD} | {"POLARS_MAX_THREADS": "1"}
    about = {"thin": thin} if thin else {}
    todo = list(work.jobs)
    while todo:
        given = [work.data, str(work.split), json.dumps(todo), *([str(thin)] if thin else [])]
        with (
            TemporaryFile("w+") as said,
            Popen(
                [sys.executable, str(HERE / "cell.py"), *given], stdout=PIPE, stderr=said, text=True, env=environment
            ) as process,
        ):
            lines = _lines(process)
            try:
                while todo:
                    try:
                        line = lines.get(timeout=limit)
                    except queue.Empty:
                        line, reason = "", f"ran out of time: {limit:g} s"
                    else:
                        reason = "" if line else _last_word(process, said)
                    job = todo.pop(0)
                    yield {**about, **(json.loads(line) if line else empty(work, job, "failed", reason))}
                    if not line:
                        break
            finally:
                process.kill()


def empty(work: Work, job: Job, status: str, reason: str) -> Cell:
    kind, method, epsilon = job
    about = {"kind": kind, "method": method, "epsilon": epsilon, "split": work.split}
    return {**about, "status": status, "reason": reason}


def _lines(process: Any) -> Any:
    """The lines of a process as they come, and an empty one at its end."""
    found: Any = queue.Queue()

    def read() -> None:
        for line in process.stdout:
            found.put(line)
        found.put("")

    threading.Thread(target=read, daemon=True).start()
    return found


def _last_word(process: Any, said: Any) -> str:
    code = process.wait()
    said.seek(0)
    return f"ended with exit code {code}: {(said.read().strip().splitlines() or ['no word'])[-1]}"[:300]


def run(works: Sequence[Work], modules: dict[str, Any], into: Path, asked: argparse.Namespace) -> None:
    """All that is not there, side by side, each result written at once, and told."""
    documents = {name: Document(into, name, SETS[name].files) for name in {work.data for work in works}}
    for name, document in documents.items():
        document.about = about(name, document.content)
    code = {(m, kind): code_of(m, module, kind) for m, module in modules.items() for kind in ("use", "attack")}

    def missing(work: Work) -> Work:
        known = documents[work.data].has
        jobs = (j for j in work.jobs if not known((*j, work.split), code[j[1], j[0]], asked.thin))
        return replace(work, jobs=tuple(jobs))

    todo = [missing(work) for work in works]
    number, of = sum(len(work.jobs) for work in todo), sum(len(work.jobs) for work in works)
    print(f"{of - number} of {of} are there already", flush=True)
    if number and not asked.leave_out:
        kept = {name: document.content["cells"] for name, document in documents.items()}
        print(f"the other {number}: {estimate(todo, kept, asked.workers)}", flush=True)
    lock, begin, ready = threading.Lock(), time.monotonic(), [0]

    def why_not() -> str:
        over = asked.minutes and time.monotonic() - begin > 60 * asked.minutes
        return asked.leave_out or (f"the {asked.minutes:g} minutes of the run were over" if over else "")

    def one(work: Work) -> None:
        todo = list(work.jobs)
        for cell in () if why_not() else done_by(work, asked.limit, asked.thin):
            todo.pop(0)
            with lock:
                documents[work.data].put(cell, code[cell["method"], cell["kind"]])
                ready[0] += 1
                when = f"[{ready[0]}/{number}, {time.monotonic() - begin:.0f} s]"
                epsilon = "" if cell["epsilon"] is None else f" epsilon {cell['epsilon']:g}"
                where = f"{work.data} {work.split} {cell['method']}{epsilon} {cell['kind']}"
                print(f"{when} {where}: {cell.get('reason') or _told(cell)}", flush=True)
            if why_not():
                break
        if todo:
            left = [empty(work, job, LEFT_OUT, why_not()) for job in todo]
            with lock:
                missing = documents[work.data].leave([(cell, code[cell["method"], cell["kind"]]) for cell in left])
            print(f"{work.data} {work.split}: {missing} left out, {why_not()}", flush=True)

    with ThreadPoolExecutor(asked.workers) as pool:
        list(pool.map(one, todo))


def _told(cell: Cell) -> str:
    if "attack" in cell:
        return "shadow AUC {:.3f} [{:.3f}, {:.3f}]".format(*cell["attack"]["shadow-auc"][:3])
    best = {name: value for name, value in cell["figures"].items() if name.startswith(("best", "RMSE"))}
    return ", ".join(f"{name} {value:.4f}" for name, value in best.items()) + f", {cell['cpu_s']:.1f} s"


def about(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """For the page. The sizes of these very files are read off them once."""
    chosen = SETS[name]
    protocol = PROTOCOLS[chosen.protocol]
    sizes = {size: known[size] for size in ("people", "items", "rows", "unit") if size in known}
    if len(sizes) < 4:
        rows = load(name).rows
        sizes = {"people": rows.compact().n_users, "items": rows.n_items, "rows": len(rows), "unit": rows.unit}
    told = {"title": chosen.title, "protocol": protocol.about, "n": protocol.n, "hits": protocol.hits}
    return {**told, **sizes, "delta": DELTA, "files": dict(chosen.files), "printed": dict(chosen.printed)}


def grid(modules: dict[str, Any], into: Path) -> None:
    """What there is to be run, for the page: every data set, every method in its own words."""
    told = {
        name: {
            "about": " ".join((module.__doc__ or "").split("\n\n")[0].split()),
            "private": getattr(module, "PRIVATE", False),
            "heavy": getattr(module, "HEAVY", ""),
        }
        for name, module in modules.items()
    }
    sets = {name: {"title": s.title, "attacked": s.attacked} for name, s in SETS.items()}
    write_json(
        into.with_name(f"{into.name}_grid.json"),
        {"data": sets, "methods": told, "epsilons": list(EPSILONS), "splits": SPLITS},
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=",".join(SETS), help="some of the data sets, by commas")
    parser.add_argument("--methods", default="", help="some of the methods, by commas; else all that are light")
    parser.add_argument("--add-method", type=Path, help="a file with a function fit; it is copied into methods/")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--epsilons", type=_numbers, default=EPSILONS, help="some of them, by commas")
    parser.add_argument("--workers", type=int, default=2, help="processes side by side")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one cell")
    parser.add_argument("--minutes", type=float, default=0, help="begin nothing after so many, and write that as the "
                        "reason of what is missing; 0: go on to the end")  # fmt: skip
    parser.add_argument("--leave-out", metavar="REASON", help="run nothing, and write why what is missing is missing")
    parser.add_argument("--no-attacks", action="store_true")
    parser.add_argument("--thin", type=int, help="a trial on so many people: its cells are marked")
    parser.add_argument("--into", type=Path, default=KEPT)
    parser.add_argument("--sign", type=Path, metavar="KEY", help="sign all documents; recveil keys new makes a key")
    return parser.parse_args()


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


def main() -> int:
    asked = arguments()
    if asked.add_method:
        shutil.copy(asked.add_method, HERE / "methods" / asked.add_method.name)
        asked.methods = asked.methods or asked.add_method.stem
    modules = methods()
    wanted = [n for n in asked.methods.split(",") if n] or [n for n, m in modules.items() if not hasattr(m, "HEAVY")]
    names = [n for n in asked.data.split(",") if n]
    for word, known in [*((n, modules) for n in wanted), *((n, SETS) for n in names)]:
        if word not in known:
            print(f"there is no {word}; there are {', '.join(known)}", file=sys.stderr)
            return 1
    here = []
    for name in names:
        if reason := absent(name):
            print(f"{name}: left out, {reason}", flush=True)
        else:
            here.append(name)
    grid(modules, asked.into)
    works = list(planned(here, {n: modules[n] for n in wanted}, asked))
    run(works, modules, asked.into, asked)
    if asked.sign:
        print(f"signed by {sign(asked.into, asked.sign)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
