"""A page of all mechanisms: what each does, takes and promises, and what it left of the atlas's data sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from making import kept
from making.figures import Mark, intervals, raw
from making.markdown import cell, table

READ_ON = {
    "shuffle-nnn": ["shuffle_nnn.md"],
    "mask": ["../guarantees/mask.md"],
    "dp-streams": ["dp_streams.md", "../guarantees/dp_streams.md"],
    "dp-ratings": ["dp_ratings.md", "../guarantees/dp_ratings.md"],
    "pritop": ["pritop.md"],
    "tag-suppression": ["pritop.md"],
    "dp-tags": ["dp_tags.md", "../guarantees/dp_tags.md"],
    "dp-post-tags": ["../guarantees/dp_tags.md"],
}


def pages(folder: Path = kept.KEPT) -> Iterator[tuple[str, str]]:
    from recveil.mechanisms import MECHANISMS
    from recveil.mechanisms.describe import describe

    lines = [
        "# The mechanisms",
        "",
        "What each does, what it promises, and what it left of the public data sets of [the atlas](../atlas/index.md): "
        "how many people who knows 4 items (or as many as half of the people have) still finds, and the lift, which is "
        "how much of what recommenders learn from the real data they still learn. `recveil mechanisms NAME` prints the "
        "same without the figures.",
        "",
    ]
    for mechanism in MECHANISMS.values():
        lines += _one(describe(mechanism), kept.usable("atlas", folder))
    yield "explanation/mechanisms.md", "\n".join(lines) + "\n"


def _one(facts: dict[str, Any], atlas: list[kept.Document]) -> Iterator[str]:
    name, promise = facts["name"], facts["promise"]
    yield from (f"## {name}", "", cell(facts["does"]), "", cell(facts["for"]), "")
    proof = (
        f" Its theorem: [{Path(promise['proof']).stem}](../guarantees/{Path(promise['proof']).name})."
        if promise["proof"]
        else ""
    )
    yield from (
        f"**Promise of** `{facts['example']}` **({promise['status']}).** {cell(promise['sentence'])}{proof}",
        "",
    )
    if facts["parameters"]:
        rows = [
            [
                f"`{p['name']}`",
                cell(p["about"]),
                cell(p["rule"] or ""),
                "required" if p["required"] else f"`{p['default']}`",
            ]
            for p in facts["parameters"]
        ]
        yield from (table(["parameter", "meaning", "rule", "default"], rows), "")
    figure = list(_left(name, atlas))
    if figure:
        title = f"What {name} left of the public data sets"
        yield raw(intervals(figure, title, ["found", "lift"]))
    if name in READ_ON:
        yield from (
            "Read on: "
            + ", ".join(
                f"[{to.split('/')[-2] + ': ' if '/' in to else ''}{Path(to).stem}]({to})" for to in READ_ON[name]
            ),
            "",
        )


def _left(name: str, atlas: list[kept.Document]) -> Iterator[tuple[str, list[Mark]]]:
    for document in atlas:
        for made in document.content.get("mechanisms", ()):
            if made["spec"].partition(":")[0] == name and (made["found"] or made["lift"]):
                marks = [
                    Mark(made[k]["value"], made[k]["low"], made[k]["high"], number)
                    for number, k in enumerate(("found", "lift"))
                    if made[k]
                ]
                yield document.content["title"], marks
