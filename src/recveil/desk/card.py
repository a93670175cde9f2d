"""The card: the bundle's README.md, which says in plain words what was done, what is promised and what is not."""

from __future__ import annotations

from typing import Any

from recveil.mechanism import Mechanism

_STATUS = {
    "proved": "Proved",
    "claimed": "Claimed by the paper that published the method, not proved by us",
    "refuted": "Claimed by the paper that published the method, and shown not to hold",
    "none": "None",
    "experiment": "Experiment",
}
_TIME = {
    "drop": "Times were dropped.",
    "order": "Times were reduced to each person's order (1, 2, 3, ...).",
    "keep": "Times were kept as they are, at the owner's wish; they make it easier to recognise a person.",
}


def card(manifest: dict[str, Any], mechanism: Mechanism) -> str:
    """A bundle's card from its manifest."""
    promise = manifest["guarantee"]
    lines = [f"# A release of {manifest['kind']} by {manifest['mechanism']}", ""]
    if promise.get("little"):
        lines += [f"> **This promise means little:** {promise['little']}.", ""]
    if manifest["seeded"]:
        lines += [
            "> **Not for publication.** This release was made with a fixed seed, for an experiment. Whoever guesses",
            "> the seed can undo everything random in it.",
            "",
        ]
    lines += [
        f"{manifest['rows']:,} rows, {manifest['users']:,} {manifest['unit']}s, {manifest['items']:,} items; "
        f"columns {', '.join(column['name'] for column in manifest['schema'])}.",
        "",
        "## What was done",
        "",
        mechanism.card(),
        "",
        f"User ids are random tokens, made for this release. Item ids are the original ones. {_TIME[manifest['time']]}",
        "",
        "## What is promised",
        "",
        f"**{_STATUS[promise['status']]}.** {promise['sentence']}",
        "",
    ]
    if promise["epsilon"] is not None:
        delta = f", delta = {promise['delta']:g}" if promise["delta"] else ""
        lines += [
            f"- epsilon = {promise['epsilon']:g}{delta}",
            f"- protected unit: one {promise['unit']} ({promise['neighbours']})",
        ]
        if promise["given"]:
            lines.append(f"- taken to be public: {promise['given']}")
        if promise["proof"]:
            lines.append(f"- proof: {promise['proof']} in recveil's documentation")
        lines.append("")
    lines += [
        "## What is not promised",
        "",
        "That the data fit any purpose, and that nobody recognises anything in them beyond what is promised above.",
        "",
        "## Check it",
        "",
        f"Made with recveil {manifest['recveil']}. `recveil verify DIR` proves that these files and manifest.json "
        "belong together; it cannot prove who made them.",
        "",
    ]
    if manifest["notes"]:
        lines += ["## Notes", "", *(f"- {name}: {value}" for name, value in manifest["notes"].items()), ""]
    return "\n".join(lines)
