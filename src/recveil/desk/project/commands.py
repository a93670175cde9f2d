"""For every screen the command lines that do the same."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from shlex import quote

from recveil.desk.project.choices import Choices
from recveil.desk.project.deciding import terms_file
from recveil.desk.project.jobs import JobStore
from recveil.desk.project.plan import FILE, attack_levels, keeps_ids
from recveil.desk.project.solving import bound


def commands(desk: JobStore, choices: Choices, bundle: str | None) -> dict[str, list[str]]:
    """By the name of the screen; nothing where a choice is missing on which the command hangs."""
    run = f"recveil run {quote(str(desk.project.file))}"
    if not choices.data.source:
        return {"start": ["recveil inspect DATA"]}
    data = _data(desk, choices)
    name = bundle or "BUNDLE"
    place = f"bundles/{name}"
    ledger = choices.release.ledger
    return {
        "start": [f"recveil inspect {data}"],
        "people": [f"recveil inspect {data}"],
        "exposure": [f"recveil assess {data} --seed {choices.candidates.seed}"],
        "recipient": [f"recveil decide {place} --recipient {quote(choices.recipient.name or 'public')}"],
        "use": _tune(choices, data),
        "candidates": _compare(choices, data),
        "red-team": [_release(choices, data, name), _measure(desk, choices, data, name)],
        "decide": _decide(desk, choices, name),
        "publish": [f"recveil verify {place}", *(_export(to, place) for to in choices.publish.exports), run],
        "judge": _judge(choices, data, place),
        "watch": ([f"recveil ledger show --ledger {quote(ledger)}"] if ledger else []) + _series(desk),
    }


def _series(desk: JobStore) -> list[str]:
    return [f"recveil series show {quote(f.parent.name)}" for f in sorted(desk.project.folder.glob("*/series.json"))]


def _data(desk: JobStore, choices: Choices) -> str:
    data = choices.data
    parts = [quote(data.source if data.source.startswith("sample:") else str(desk.project.path(data.source)))]
    if data.columns:
        parts.append("--columns " + quote(_line(data.columns)))
    if data.types:
        parts.append("--types " + quote(_line(data.types)))
    if data.schema:
        parts.append("--schema " + quote(str(desk.project.path(data.schema))))
    return " ".join(parts)


def _line(mapping: Mapping[str, str]) -> str:
    """user=uid,item=movie; with quotes around a part whose name has a comma."""
    made = io.StringIO()
    csv.writer(made, lineterminator="").writerow(f"{role}={name}" for role, name in mapping.items())
    return made.getvalue()


def _tune(choices: Choices, data: str) -> list[str]:
    use = choices.use
    if not use.what:
        return []
    size = f" --people {use.people}" if use.on == "twin" and use.people else ""
    size += f" --twin-items {use.items}" if size and use.items else ""
    size += f" --items {quote(choices.data.items)}" if choices.data.items else ""
    return [f"recveil tune {data} --with MECHANISM --keep '{bound(choices)}'{size}{' --on-data' * (use.on == 'data')}"]


def _compare(choices: Choices, data: str) -> list[str]:
    wanted = choices.candidates
    with_ = [f"--with {quote(spec)}" for spec in wanted.specs] + [f"--release {quote(file)}" for file in wanted.files]
    how = (
        [f"--only {','.join(wanted.measures)}"] * bool(wanted.measures)
        + ["--quick"] * wanted.quick
        + [f"--items {quote(choices.data.items)}"] * bool(choices.data.items)
        + [f"--shadows {wanted.shadows}", f"--seed {wanted.seed}"]
    )
    return [" ".join([f"recveil compare {data}", *with_, *how, "-o report.html"])] if with_ else []


def _release(choices: Choices, data: str, name: str) -> str:
    wishes, spec = choices.release, choices.candidates.chosen
    parts = [f"recveil release {data} --with {quote(spec.removeprefix(FILE) or 'MECHANISM')} -o bundles/{name}"]
    if wishes.holdout:
        parts.append(f"--holdout {wishes.holdout:g} --holdout-file private/{name}-held.parquet")
    if keeps_ids(spec):
        parts.append(f"--keep-map private/{name}-map.csv")
    for option, value in (("format", wishes.format), ("time", wishes.time), ("licence", wishes.licence)):
        if value and value not in ("parquet", "auto"):
            parts.append(f"--{option} {quote(value)}")
    if wishes.catalogue or choices.data.items:
        parts.append(f"--items {quote(wishes.catalogue or choices.data.items)}")
    parts += ["--publish-titles"] * wishes.publish_titles
    if wishes.catalogue_is_public:
        parts.append("--catalogue-is-public")
    if wishes.ledger:
        parts.append(f"--ledger {quote(wishes.ledger)}")
    parts.append(f"--sign {quote(choices.owner.key or 'keys/owner.key')}")
    return " ".join(parts + [f"--seed {wishes.seed}"] * (wishes.seed >= 0))


def _measure(desk: JobStore, choices: Choices, data: str, name: str) -> str:
    how = choices.red_team
    known = ",".join(map(str, attack_levels(desk.project, choices)))
    parts = [f"recveil measure {data} bundles/{name}"]
    if choices.release.holdout:
        parts.append(f"--holdout private/{name}-held.parquet")
    if keeps_ids(choices.candidates.chosen):
        parts.append(f"--map private/{name}-map.csv")
    parts.append(f"--known {known} --known-items {how.items}")
    parts += {"both": [], "with": ["--ratings"], "without": ["--no-ratings"]}[how.ratings]
    parts += [f"--only {','.join(how.measures)}"] * bool(how.measures)
    parts += [f"--shadows {how.shadows}"] * (how.shadows > 0)
    parts += [f"--items {quote(choices.data.items)}"] * bool(choices.data.items)
    return " ".join([*parts, f"--sign {quote(choices.owner.key or 'keys/owner.key')}"])


def _decide(desk: JobStore, choices: Choices, name: str) -> list[str]:
    """The sheet, to be read, under the digest of the page's; then the file that goes to the officer."""
    to, place, ledger = choices.recipient, f"bundles/{name}", choices.release.ledger
    said = [("--recipient", to.name or "public"), ("--purpose", to.purpose), ("--contract", to.contract)]
    said += [("--until", choices.officer.until), *(("--condition", words) for words in choices.officer.conditions)]
    said += [("--ledger", ledger if ledger and desk.project.path(ledger).exists() else "")]
    terms = "".join(f" {option} {quote(words)}" for option, words in said if words)
    sheet = f"recveil decide {place}{terms} --context private/{terms_file(name)}"
    return [sheet, f"recveil dossier pack {place} -o dossier.zip"]


def _judge(choices: Choices, data: str, place: str) -> list[str]:
    wanted = choices.judge
    if not wanted.people:
        return []
    new = f"recveil judge new {data} --people {wanted.people:g} --epsilon {wanted.epsilon:g} --metric {wanted.metrics}"
    new += f" --ledger {quote(choices.release.ledger)} --bundle {place} -o private/court"
    scored = [f"recveil judge score private/court {quote(file)}" for file in wanted.submissions]
    sign = quote(choices.owner.key or "keys/owner.key")
    return [new, *scored, f"recveil judge board private/court -o board.html --sign {sign}"]


def _export(to: str, place: str) -> str:
    return f"recveil export {place} --to {to} -o {'bundle.zip' if to == 'zip' else to}"
