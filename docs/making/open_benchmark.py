"""The open benchmark: a page over all data sets and one for each, from kept JSON. Every cell, or why it is empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from making import kept
from making.figures import Dot, Mark, intervals, raw, scatter
from making.markdown import cell, table
from making.open_claims import SEARCHED, checked
from making.open_results import (
    CONTROLS,
    NAMES,
    NOT_RUN,
    ROOM,
    SHOWN_AT,
    Cells,
    Results,
    among,
    name_of,
    results,
    span,
    told,
)

AXES = ("given away: 2 AUC - 1 of the attack by shadows", "kept of what the real rows teach")


def pages(folder: Path = kept.KEPT) -> Iterator[tuple[str, str]]:
    found = results(folder)
    yield "open/index.md", _index(found, kept.faults(ROOM, folder))
    for one in found:
        yield f"open/{one.name}.md", _page(one, folder)


def _signer(name: str, folder: Path) -> str:
    """Whose key signed the document as it is, and whether it is the one beside it."""
    from cryptography.hazmat.primitives import serialization as form

    from recveil.releases.signing import BrokenEnvelopeError, fingerprint, unseal

    path, known = folder / ROOM / "signatures.jsonl", folder / ROOM / "public_key.pem"
    beside = ""
    if known.is_file():
        public = form.load_pem_public_key(known.read_bytes())
        beside = fingerprint(public.public_bytes(form.Encoding.Raw, form.PublicFormat.Raw))
    hashed = sha256((folder / ROOM / f"{name}.json").read_bytes()).hexdigest()
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            opened = unseal(line)
        except BrokenEnvelopeError:
            continue
        if opened.statement["subject"] == [{"name": f"{name}.json", "digest": {"sha256": hashed}}]:
            whose = "" if opened.fingerprint == beside else ", which is not the one in `docs/kept/open/public_key.pem`"
            return f"Signed by the key {opened.fingerprint[:16]}{whose}."
    return "Not signed."


def headline(found: Sequence[Results]) -> str:
    """A row for each data set with figures: the controls, and what teaches most at the shown epsilon."""
    rows = []
    for one in found:
        if not one.begun:
            continue
        private = [m for m, e in one.rows() if e == SHOWN_AT and one.values(m, e, f"best {one.hits}")]
        best = sorted(private, key=lambda m: -span(one.values(m, SHOWN_AT, f"best {one.hits}"))[0])[:2]
        splits = len(one.values("real", None, f"best {one.hits}"))
        shown = [f"{name_of(m)}: {among(one.values(m, SHOWN_AT, f'best {one.hits}'), splits)}" for m in best]
        few = "" if splits > 2 else ", one split so far" if splits == 1 else ", two splits so far"
        controls = [
            among(v, splits) if (v := one.values(m, None, f"best {one.hits}")) else _short(one.reason(m, None))
            for m in CONTROLS
        ]
        title = f"{cell(one.content['title'])}, {one.hits}{few}"
        rows.append([title, *controls, *shown, *["-"] * (2 - len(shown))])
    head = ["data set", *(NAMES[m] for m in CONTROLS), f"best at epsilon {SHOWN_AT:g}", "next best"]
    return table(head, rows)


def _short(reason: str) -> str:
    return "no item file" if "no public file" in reason else reason.partition(":")[0] or "-"


def picture(one: Results, title: str) -> str:
    """What each method keeps of what the real rows teach beyond the most popular, by epsilon."""
    epsilons = one.grid["epsilons"]
    drawn: dict[str, list[Mark]] = {}
    for method, epsilon in one.rows():
        lifts = one.lift(method, epsilon)
        if lifts and method not in ("real", "popular"):
            series = 0 if epsilon is None else 1 + epsilons.index(epsilon)
            drawn.setdefault(name_of(method), []).append(Mark(*span(lifts), series))
    names = ["no promise", *(f"epsilon {e:g}" for e in epsilons)]
    return intervals(list(drawn.items()), title, names) if drawn else ""


def frontier(one: Results) -> tuple[list[Dot], list[str]]:
    """What teaches how much and gives away how much; and those that nothing beats in both."""
    dots = []
    for method, epsilon in one.rows():
        auc, lifts = one.attack(method, epsilon), one.lift(method, epsilon)
        if auc and lifts and method != "popular":
            dots.append(Dot(name_of(method, epsilon), 2 * auc[0] - 1, span(lifts)[0], int(epsilon is not None)))
    best = [d.name for d in dots if not any(o.x <= d.x and o.y >= d.y and o is not d for o in dots)]
    return dots, best


def _index(found: Sequence[Results], faults: Sequence[str]) -> str:
    lines = [
        "# The open benchmark",
        "",
        "Private interaction data: who protects people's clicks, and what is left to learn? Every method sees the same "
        "rows of the same public data sets, under one protocol each; the same judges learn from what it releases; the "
        "same attack tries to tell who was in. [Add your own method](../howto/add_your_method.md): one file, one row.",
        "",
        headline(found),
        "",
        "Figures are means over splits with Student's 95% intervals, by the judge that does best for people apart from "
        "the test people (EASE with ridge 50 or 500 over all items in the rows, item-kNN with 20 or 200 neighbours, on "
        "ordered data a Markov chain); models that publish no rows are asked themselves. Promises are by person, and "
        "by session where the data tell no people apart; delta is 1e-6. `make open-benchmark` "
        "(`benchmarks/open/run.py`) runs what is missing, on the data sets in the folder that `RECVEIL_DATA` names, "
        "and goes on where it was interrupted. Each data set's page names the key that signed its results "
        "(`docs/kept/open/signatures.jsonl`; the public key is `public_key.pem` beside it): they are as they were "
        "made, whoever made them.",
        "",
    ]
    for one in found:
        lines += [f"## {cell(one.content['title'])}", "", _what(one), "", *([_old(one), ""] if _old(one) else [])]
        if shown := picture(one, f"{one.content['title']}: what is kept of what the real rows teach"):
            lines += [raw(shown), ""]
        dots, best = frontier(one)
        if len(dots) > 1:
            lines += [raw(scatter(dots, f"{one.content['title']}: use and attack", AXES)), ""]
            lines += [f"Nothing teaches more and gives away less than: {'; '.join(best)}.", ""]
        lines += [f"[All figures of {cell(one.content['title'])}]({one.name}.md)", ""]
    lines += [
        "## What we say, checked",
        "",
        f"How far dp-streams at epsilon {SHOWN_AT:g} is ahead in the first figure, split by split with Student's 95% "
        "interval. Where a cell is empty nothing is claimed.",
        "",
        checked(found),
        "",
    ]
    if found:
        missing = [d["title"] for name, d in found[0].grid["data"].items() if name not in {o.name for o in found}]
        lines += ["## Methods", "", SEARCHED, "", *_methods(found[0].grid), ""]
        lines += [f"- {NOT_RUN.capitalize()}: {cell(title)}." for title in missing]
    lines += [*(f"- {fault}" for fault in faults), "", "```{toctree}\n:hidden:\n", *(one.name for one in found), "```"]
    return "\n".join(lines) + "\n"


def _old(one: Results) -> str:
    names = "; ".join(name_of(*row) for row in one.old)
    changed = f"Old: files that these figures hang on have changed since: {names}." if names else ""
    return f"{one.stale} {changed}".strip()


def _what(one: Results) -> str:
    c = one.content
    whose = "sessions" if c["unit"] == "session" else "people"
    return f"{c['rows']:,} rows of {c['people']:,} {whose}, {c['items']:,} items. {c['protocol']}"


def _methods(grid: dict[str, Any]) -> list[str]:
    return [f"- **{name_of(m)}**: {cell(d['about'])}" for m, d in grid["methods"].items()]


def full_table(one: Results) -> str:
    """Every method and epsilon, with what it costs."""
    judges = [
        j for j in ("EASE", "ItemKNN", "Markov") if any(f"{j} {one.hits}" in c.get("figures", {}) for c in one.cells)
    ]
    rated = any("RMSE" in c.get("figures", {}) for c in one.cells)
    head = ["method", one.hits, one.ndcg, *judges, *(["RMSE"] if rated else []), "items", "attack, AUC", "CPU s", "GB"]
    rows = []
    for name, method, epsilon in one.shown():
        if not one.values(method, epsilon, f"best {one.hits}"):
            rows.append([name, _short(one.reason(method, epsilon)), *["-"] * (len(head) - 2)])
            continue
        figures = [f"best {one.ndcg}", *(f"{j} {one.hits}" for j in judges)]
        shown = [told(one.values(method, epsilon, f"best {one.hits}"))]
        shown += [told(one.values(method, epsilon, f), note="") for f in figures]
        shown += [told(one.values(method, epsilon, "RMSE"), 2, "")] if rated else []
        items, auc = one.values(method, epsilon, "items"), one.attack(method, epsilon)
        done = [c for c in one.of(method, epsilon) if c["status"] == "done"]
        rows.append(
            [
                name,
                *shown,
                f"{np.mean(items):,.0f}" if items else "-",
                f"{auc[0]:.2f} [{auc[1]:.2f}, {auc[2]:.2f}]" if auc else "-",
                f"{np.mean([c['cpu_s'] for c in done]):.1f}" + _gpu(done),
                f"{np.mean([c['gb'] for c in done]):.1f}",
            ]
        )
    return table(head, rows)


def _gpu(done: Cells) -> str:
    found = [c["gpu_s"] for c in done if "gpu_s" in c]
    return f", GPU {np.mean(found):.0f}" if found else ""


def reasons(one: Results) -> list[str]:
    """A line for each reason, with the methods that have it."""
    found: dict[str, list[str]] = {}
    for name, method, epsilon in one.shown():
        if reason := one.reason(method, epsilon):
            found.setdefault(reason, []).append(name)
        attacked = one.grid["data"][one.name]["attacked"] and epsilon in (None, SHOWN_AT)
        if attacked and not reason and not one.attack(method, epsilon):
            why = f"the attack was {one.reason(method, epsilon, 'attack')}".replace(f"was {NOT_RUN}", f"is {NOT_RUN}")
            found.setdefault(why, []).append(name)
    return [f"- {cell(reason)}: {'; '.join(names)}." for reason, names in found.items()]


def _page(one: Results, folder: Path) -> str:
    content = one.content
    lines = [f"# Open benchmark: {cell(content['title'])}", "", _what(one), ""]
    if said := _old(one):
        lines += [f":::{{warning}}\n{said}\n:::", ""]
    if thinned := one.thinned:
        lines += [f":::{{warning}}\nThinned, a trial on some of the people alone: {', '.join(thinned)}.\n:::", ""]
    lines += [
        f"`python benchmarks/open/run.py --data {one.name}` made this with version {content['version']}. "
        + _signer(one.name, folder),
        "",
        full_table(one),
        "",
        "Without its name beside it a figure is of the judge that does best for the search people. *items*: different "
        "ones in the released rows. *attack*: who was in, told by 16 releases of halves of at most 2,000 of the people "
        f"(0.5 is a coin), where there is a promise at epsilon {SHOWN_AT:g}. CPU seconds of one core and peak memory "
        "of the process are those of learning and drawing; of several settings, of all.",
        "",
        *_printed(one),
        *reasons(one),
        "",
        f"Files, SHA-256: {', '.join(f'{name} {value[:16]}' for name, value in content['files'].items())}. "
        f"Python {content['python']}; {', '.join(f'{n} {v}' for n, v in content['libraries'].items())}.",
    ]
    return "\n".join(lines) + "\n"


def _printed(one: Results) -> list[str]:
    """What others print under the same protocol."""
    found = [f"{who} {name} {value:g}" for who, row in one.content["printed"].items() for name, value in row.items()]
    return [f"Printed by others under this protocol: {cell('; '.join(found))}.", ""] if found else []


def _front() -> str:
    """One picture: what is kept and what is given away, of the data set where most methods were attacked."""
    found = results()
    if not found:
        return ""
    one = max(found, key=lambda r: len(frontier(r)[0]))
    title = f"{one.content['title']}: what releases keep for recommenders, and what an attack tells of who is in them"
    drawn = raw(scatter(frontier(one)[0], title, AXES))
    return f"{drawn}\n*{cell(title)}. [The open benchmark](open/index.md)*"


def _table_of(name: str) -> str:
    """The full table of a data set on another page."""
    one = next((r for r in results() if r.name == name), None)
    if one is None:
        return f"{NOT_RUN.capitalize()}."
    return "\n".join([_what(one), "", full_table(one), "", *reasons(one)])


def of_method(*methods: str) -> str:
    """One mechanism on every data set, beside the controls."""
    rows = []
    for one in results():
        figure = f"best {one.hits}"
        asked = [(m, None) for m in CONTROLS] + [(m, e) for m in methods for e in one.grid["epsilons"]]
        if any(one.values(m, e, figure) for m, e in asked[len(CONTROLS) :]):
            splits = len(one.values("real", None, figure))
            cells = (among(one.values(m, e, figure), splits) for m, e in asked)
            rows.append([f"[{cell(one.content['title'])}](../open/{one.name}.md), {one.hits}", splits, *cells])
    epsilons = results()[0].grid["epsilons"] if rows else ()
    named = [name_of(m, e) for m in methods for e in epsilons]
    return table(["data set", "splits", *(NAMES[m] for m in CONTROLS), *named], rows)


FRONT = {"picture": _front}
MECHANISMS = {name: partial(of_method, name, f"{name}_items") for name in ("dp_streams", "dp_ratings")}
RIVALS = {name: partial(_table_of, name) for name in ("yahoo-music-mbrw", "diginetica")}
