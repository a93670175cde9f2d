"""The atlas of exposure: a page for each public data set, and one over all, from kept JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from making import kept
from making.figures import Mark, intervals, raw
from making.markdown import cell, table
from making.measure_atlas import KNOWN, SETS

UNITS = {"session": "sessions"}


def pages(folder: Path = kept.KEPT) -> Iterator[tuple[str, str]]:
    """Names and texts of the pages."""
    found = kept.usable("atlas", folder)
    yield "atlas/index.md", _index(found, kept.faults("atlas", folder))
    for document in found:
        yield f"atlas/{document.name}.md", _page(document)


def _index(found: list[kept.Document], faults: list[str]) -> str:
    rows = []
    for d in found:
        curve = d.content["exposure"]
        reached = [kept.span(level) if (level := kept.at(curve, r)) else "-" for r in KNOWN]
        who = f"{d.content['people']:,} {UNITS.get(d.content.get('unit', ''), 'people')}"
        thin = "" if d.content["assessed"]["people"] == d.content["people"] else " (thinned)"
        rows.append([f"[{cell(d.content['title'])}]({d.name}.md)", d.content["kind"], who + thin, *reached])
    figure = [(d.content["title"], _marks(d.content["exposure"])) for d in found]
    missing = [name for name in SETS if name not in {d.name for d in found}]
    lines = [
        "# The atlas of exposure",
        "",
        "Ten data sets that owners of recommender data know. Suppose each were released with new user ids and nothing "
        "else, as several of them were. Somebody knows a few things that a person did (2, 4 or 8 of her items, drawn "
        "at random, without ratings) and looks for her record. How many people does he find?",
        "",
        raw(intervals(figure, "People found by who knows 2, 4 and 8 items", [f"{r} items known" for r in KNOWN])),
        table(["data set", "kind", "whose", *(f"found by {r} items" for r in KNOWN)], rows),
        "",
        "Shares of the people who have so many items, with 95% intervals; the attacker is the strongest of four "
        "([attacks](../explanation/attacks.md#linkage)). Who knows ratings too needs fewer items: the pages have both. "
        "The smaller a crowd, the easier it is to be found in it: the figures of thinned data sets are higher than "
        "those of the whole would be.",
        "",
        *(f"- {fault}" for fault in faults),
        *([f"- Not measured here: {', '.join(missing)}."] if missing else []),
        "",
        "`make atlas` measures all of this anew, with `recveil assess` and one quick comparison of every mechanism "
        "that fits, on the data sets in the folder that `RECVEIL_DATA` names; what is not there is named and left "
        "out. Only aggregate figures are kept (`docs/kept/atlas`), no record and no id of anybody.",
        "",
        "```{toctree}\n:hidden:\n",
        *(d.name for d in found),
        "```",
    ]
    return "\n".join(lines) + "\n"


def _marks(curve: list[dict[str, Any]], ratings: bool = False) -> list[Mark]:
    chosen = [level for level in curve if level["ratings"] == ratings and level["known"] in KNOWN]
    return [Mark(level["value"], level["low"], level["high"], KNOWN.index(level["known"])) for level in chosen]


def _page(document: kept.Document) -> str:
    content = document.content
    lines = [f"# {cell(content['title'])}", ""]
    if document.stale:
        lines += [f":::{{warning}}\n{document.stale} Run `make atlas` again.\n:::", ""]
    sizes = ", ".join(f"{content[k]:,} {k}" for k in ("rows", "items") if k in content)
    people = f"{content['people']:,} {UNITS.get(content.get('unit', ''), 'people')}"
    lines += [
        f"{content['kind'].capitalize()} of {people}: {sizes}. From {cell(content.get('origin', ''))}. Measured by "
        f"`python -m making.measure_atlas {document.name}` (`make atlas`) with version {content['version']}.",
        "",
        "## If only the ids were replaced",
        "",
        _exposure(content["exposure"]),
        "",
        f"Measured on {content['assessed']['rule']}. A share is of those who have so many items. *Not in the data*: "
        "the share of strangers of whom the attacker claims to have found a record.",
    ]
    if one := content.get("items_of_one_person"):
        lines += ["", f"{one:,} of the {content['assessed_items']:,} items among these belong to one person alone."]
    if content.get("mechanisms"):
        lines += ["", *_mechanisms(content)]
    return "\n".join(lines) + "\n"


def _exposure(curve: list[dict[str, Any]]) -> str:
    ways = [way for way in (False, True) if any(level["ratings"] == way for level in curve)]
    names = {False: "items alone", True: "items with their ratings"}
    figure = [(names[way], _marks(curve, way)) for way in ways]
    rows = [
        [
            level["known"],
            names[level["ratings"]],
            kept.span(level),
            _part(level["control"]),
            _part(level["chance"]),
            level["n"],
        ]
        for level in sorted(curve, key=lambda level: (level["ratings"], level["known"]))
    ]
    head = ["items known", "what of them", "found", "not in the data", "a blind guess", "people"]
    drawn = intervals(figure, "People found, by what is known", [f"{r} items known" for r in KNOWN])
    return f"{raw(drawn)}\n{table(head, rows)}"


def _part(value: float | None) -> str:
    return "-" if value is None else kept.share(value)


def _mechanisms(content: dict[str, Any]) -> Iterator[str]:
    """What each mechanism leaves to an attacker and to a recommender."""
    made = content["mechanisms"]
    figure = []
    for m in made:
        marks = [Mark(m[k]["value"], m[k]["low"], m[k]["high"], n) for n, k in enumerate(("found", "lift")) if m[k]]
        figure.append((m["spec"].partition(":")[0], marks))
    known = next((m["found"].get("known", 4) for m in made if m["found"]), 4)
    names = [f"found by {known} items", "lift"]
    rows = [
        [
            f"`{m['spec']}`",
            m["promise"] if m["promise"] != "proved" else f"proved, for one {m['unit']}",
            kept.span(m["found"]) if m["found"] else "-",
            f"{m['membership']['value']:.2f} [{m['membership']['low']:.2f}, {m['membership']['high']:.2f}]"
            if m["membership"] else "-",
            kept.span(m["lift"]) if m["lift"] else "-",
        ]
        for m in made
    ]  # fmt: skip
    yield from ("## What each mechanism leaves", "")
    yield raw(intervals(figure, "What an attacker and a recommender still get", names))
    yield table(["mechanism", "promise", names[0], "membership, AUC", "lift"], rows)
    yield ""
    yield (
        f"One quick comparison on {content['compared']['rule']}. *Lift*: 100% is what recommenders learn from the real "
        "data, 0% what a list of best sellers gives (for tags: what a person's own history gives). *Membership*: 0.5 "
        "is a coin. Releases are experiments with a fixed seed, one draw of the noise; mechanisms whose noise is set "
        "for many people suffer where there are few."
    )
    if content.get("skipped"):
        yield ""
        yield from (f"- {cell(line)}" for line in content["skipped"])
