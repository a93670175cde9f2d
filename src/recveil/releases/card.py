"""The card: the bundle's README.md, which says in plain words what was done, what is promised and what is not."""

from __future__ import annotations

import json
from typing import Any

from recveil.guarantee import CHOSEN_ON_DATA
from recveil.mechanism import Mechanism
from recveil.releases.licences import LICENCES

# What stands below it in a card was added after the release; it says no more than the signed claims beside it.
DECIDED = "<!-- Below: what was decided, by claims.jsonl. manifest.json states the hash of what stands above. -->\n"
_STATUS = {
    "proved": "Proved",
    "claimed": "Claimed by the paper that published the method, not proved by us",
    "refuted": "Claimed by the paper that published the method, and shown not to hold",
    "none": "None",
    "experiment": "Experiment",
}
_SCHEMA = {
    "declared": "declared by the owner (declared)",
    "declared by options": "declared by options of the command (declared by options)",
    "proposed by inspect": "proposed by inspect after a look at the data, and confirmed by the owner's use of it",
    "the file's own": "the file's own, from its header or its types",
}
_TIME = {
    "drop": "Times were dropped.",
    "order": "No times are released; the rows of a person stand in their order (1, 2, 3, ...).",
    "keep": "Times were kept as they are, at the owner's wish; they make it easier to recognise a person.",
}


def head(manifest: dict[str, Any]) -> list[str]:
    """What Hugging Face's hub and `datasets` read at the top of a card; in YAML, whose strings JSON's are."""
    promise, licence = manifest["guarantee"], manifest.get("licence")
    tags = ["recommender-systems", "privacy", manifest["kind"], f"recveil-{manifest['mechanism']}"]
    if promise["status"] == "proved":
        tags.append("differential-privacy")
    lines = ["---", f"pretty_name: {json.dumps(_title(manifest), ensure_ascii=False)}"]
    if licence in LICENCES:
        lines.append(f"license: {LICENCES[licence][0]}")
    elif licence:
        lines += ["license: other", f"license_name: {json.dumps(licence, ensure_ascii=False)}"]
    lines += [f"size_categories: [{json.dumps(_size(manifest['rows']))}]", f"tags: {json.dumps(tags)}"]
    data = next(entry["name"] for entry in manifest["files"] if entry["name"].startswith("data"))
    if data.endswith((".parquet", ".csv")):
        where = "data/*.parquet" if data.startswith("data/") else data
        lines += ["configs:", "- config_name: default", f"  data_files: {json.dumps(where)}", "  default: true"]
        for table in manifest.get("tables", ()):
            lines += [f"- config_name: {json.dumps(table['name'])}", f'  data_files: "tables/{table["name"]}.parquet"']
        if manifest.get("titles"):
            lines += ['- config_name: "titles"', '  data_files: "items.parquet"']
    return [*lines, "---", ""]


def _size(rows: int) -> str:
    """The size of a data set in the words of the hub."""
    names = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")
    digits = len(str(rows))
    if digits <= 3:
        return "n<1K"
    return f"{names[digits - 4]}<n<{names[digits - 3]}" if digits - 3 < len(names) else "n>1T"


def _title(manifest: dict[str, Any]) -> str:
    return f"A release of {manifest['kind']} by {manifest['mechanism']}"


def card(manifest: dict[str, Any], mechanism: Mechanism) -> str:
    """A bundle's card from its manifest, whose `files` are those written so far."""
    promise = manifest["guarantee"]
    lines = [*head(manifest), f"# {_title(manifest)}", ""]
    if promise.get("weakness"):
        lines += [f"> **This promise means little:** {promise['weakness']}.", ""]
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
    lines += _figures(manifest)
    lines += [
        "## What is not promised",
        "",
        CHOSEN_ON_DATA[manifest["chosen_on_data"]],
        "",
        "That the data fit any purpose, and that nobody recognises anything in them beyond what is promised above.",
        "",
        "## Check it",
        "",
        f"Made with recveil {manifest['recveil']}. `recveil verify DIR` proves that these files and manifest.json "
        "belong together, and with `--trust FILE` whose signatures stand in claims.jsonl; alone it cannot prove who "
        "made them. croissant.json describes the files for other tools.",
        "",
    ]
    return "\n".join(lines + _notes(manifest))


def _notes(manifest: dict[str, Any]) -> list[str]:
    names = "items.parquet has the public names of the items, as their owner lists them"
    notes = [names] * bool(manifest.get("titles"))
    notes += [f"{name}: {value}" for name, value in manifest["notes"].items()]
    return ["## Notes", "", *(f"- {note}" for note in notes), ""] if notes else []


def _figures(manifest: dict[str, Any]) -> list[str]:
    """Epsilon, the unit, what is taken as public or declared, and the proof; nothing where there is no epsilon."""
    promise = manifest["guarantee"]
    if promise["epsilon"] is None:
        return []
    delta = f", delta = {promise['delta']:g}" if promise["delta"] else ""
    lines = [
        f"- epsilon = {promise['epsilon']:g}{delta}",
        f"- protected unit: one {promise['unit']} ({promise['neighbours']})",
    ]
    if promise["given"]:
        lines.append(f"- taken to be public: {promise['given']}")
    if manifest.get("schema_from"):
        lines.append(f"- columns and types of the data: {_SCHEMA[manifest['schema_from']]}")
    if facts := manifest.get("series"):
        lines += [
            f"- series {facts['name']}: window {facts['window']}, {facts['begin']} to {facts['end']}; the promise is "
            f"for all {facts['windows']} windows of the period until {facts['period_end']} together",
            f"- this window alone: epsilon = {facts['window_epsilon']:g}, delta = {facts['window_delta']:g}",
        ]
        if facts["carried"] and facts["window"] > facts["first"]:
            lines.append("- carried over: the rows follow the tables of this window and of earlier ones together")
    if promise["proof"]:
        lines.append(f"- proof: {promise['proof']} in recveil's documentation")
    return [*lines, ""]
