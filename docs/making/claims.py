"""The ledger of published claims: a page for each paper, and one over all, from kept JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from making import kept
from making.figures import raw, stacked
from making.markdown import cell, table

LIMITS = {
    "clicks": "../howto/click_advisor.md",
    "mask": "../guarantees/mask.md",
    "pritop": "../explanation/pritop.md",
    "shuffle-nnn": "../explanation/shuffle_nnn.md",
    "mbrw": "../explanation/dp_streams.md",
}


def pages(folder: Path = kept.KEPT) -> Iterator[tuple[str, str]]:
    """Names and texts of the pages."""
    found = kept.usable("claims", folder)
    yield "claims/index.md", _index(found, kept.faults("claims", folder))
    for document in found:
        yield f"claims/{document.name}.md", _page(document)


def _index(found: list[kept.Document], faults: list[str]) -> str:
    claims = [c for d in found for c in kept.published(d.content["claims"])]
    number = kept.counts(claims)
    rows = []
    for d in found:
        one = kept.counts(kept.published(d.content["claims"]))
        name = d.content["title"].partition(":")[0]
        rows.append([f"[{name}]({d.name}.md)", _state(d), *(one.get(v, 0) for v in kept.VERDICTS[:5])])
    lines = [
        "# The ledger of published claims",
        "",
        f"Of {len(claims)} numbers and statements that {len(found)} papers publish, "
        f"{number.get('reproduced', 0)} were reproduced; {number.get('compatible', 0)} more are compatible with what "
        f"we measure. {number.get('not reproduced', 0)} are not reproduced, and "
        f"{number.get('contradicted by the paper', 0)} are contradicted by the paper's own numbers.",
        "",
        raw(stacked(number, "All claims by verdict", kept.VERDICTS)),
        table(["paper", "made by", *kept.VERDICTS[:5]], rows),
        "",
        *(f"- {fault}" for fault in faults),
        "",
        "Every page is made from what `recveil reproduce PAPER -o FILE` wrote, kept in `docs/kept/claims` as numbers "
        "alone. `make ledger` makes them anew; it needs the data sets in the folder that `RECVEIL_DATA` names. A "
        "result that another version of recveil made says so.",
        "",
        "```{toctree}\n:hidden:\n",
        *(d.name for d in found),
        "```",
    ]
    return "\n".join(lines) + "\n"


def _state(document: kept.Document) -> str:
    content = document.content
    words = [f"version {content['version']}"]
    if document.stale:
        words.append("stale")
    if content.get("not_run"):
        words.append("in part")
    return ", ".join(words)


def _page(document: kept.Document) -> str:
    content = document.content
    own, beside = (
        kept.published(content["claims"]),
        [c for c in content["claims"] if c["verdict"] == "beside the paper"],
    )
    drawn = stacked(kept.counts(own), f"Claims of {document.name} by verdict", kept.VERDICTS)
    lines = [f"# {content['title']}", "", raw(drawn)]
    if document.stale:
        lines += [f":::{{warning}}\n{document.stale} Run `make ledger` again.\n:::", ""]
    if content.get("not_run"):
        parts = "; ".join(content["not_run"])
        lines += [f":::{{admonition}} Not run\nThese parts of the reproduction were not run: {parts}.\n:::", ""]
    made = f" on {content['made']}" if content.get("made") else ""
    lines += [
        f"`recveil reproduce {document.name} --data DIR` made these figures{made} with version {content['version']}. "
        f"What else is known of it: [{Path(LIMITS[document.name]).stem}]({LIMITS[document.name]}).",
        "",
        *(f"- **{verdict}**: {meaning}" for verdict, meaning in content["verdicts"].items()),
        "",
        "## Every published number beside ours",
        "",
        _claims(own),
    ]
    if beside:
        lines += ["", "## Beside the paper", "", "Figures of our own, to compare with.", "", _claims(beside)]
    return "\n".join(lines) + "\n"


def _claims(claims: list[dict[str, Any]]) -> str:
    rows = [
        [f"{cell(c['where'])}: {cell(c['claim'])}", c["verdict"], _value(c["paper"]), _ours(c), cell(c["why"])]
        for c in claims
    ]
    return table(["where, and what", "verdict", "paper", "ours", "why"], rows)


def _ours(claim: dict[str, Any]) -> str:
    value = _value(claim["ours"])
    if claim["low"] is None or claim["high"] is None:
        return value
    return f"{value} [{_value(claim['low'])}, {_value(claim['high'])}]"


def _value(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else cell(str(value))
