"""The board: every submission's interval, ties as ties, what is left of the budget. A page and the same as JSON,
signed.

All of it was answered with noise, or was settled when the court was made: nothing here is computed from people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from math import hypot
from pathlib import Path
from typing import Any

from recveil.court.folder import COUNTING, Answer, Court
from recveil.court.ladder import false_rate, standing
from recveil.dp.budget import epsilon_of
from recveil.errors import RecveilError
from recveil.formats.files import check_writable, write_text
from recveil.releases import claims, ledger
from recveil.releases.claims import Checked, Known
from recveil.releases.places import Folder
from recveil.releases.signing import Signer

JUDGED = ("judged",)


def board(court: Court) -> dict[str, Any]:
    """What a board says, as plain data."""
    from recveil import __version__

    settled, answers = court.settled, [a for a in court.answers() if not a.owner_only]
    scored = [a for a in answers if a.kind == "score"]
    metrics = list(dict.fromkeys([*settled.metrics, *(a.metric for a in scored)]))
    spent = sum(line["rho"] for line in court.lines())
    now, shown = standing(court), [a for a in answers if a.kind == "ladder"]
    return {
        "recveil": __version__,
        "court": settled.name,
        "date": ledger.now(),
        "made": settled.date,
        "seeded": settled.seeded,
        "unit": settled.unit,
        "people": settled.people,
        "people_noise": round(1.96 * settled.count_variance**0.5),
        "share": settled.share,
        "find": settled.find,
        "like": settled.like,
        "given": settled.given,
        "promise": {"epsilon": settled.epsilon, "delta": settled.delta, "unit": settled.unit},
        "spent": {"epsilon": epsilon_of(spent, settled.delta), "delta": settled.delta, "rho": spent},
        "left": court.left,
        "answers": settled.scores,
        "tables": [{"metric": m, "rows": ranked([a for a in scored if a.metric == m])} for m in metrics],
        "comparisons": [_shown(a) | {"other": a.other} for a in answers if a.kind == "compare"],
        "ladder": {
            "metric": settled.metrics[0],
            "step": settled.step,
            "false_rate": false_rate(settled.step, settled.people, settled.rho * (1 - COUNTING) / settled.scores),
            "steps": now.rounds,
            "tried": now.tried,
            "rows": [{"name": a.name, "sha256": a.sha256, "date": a.date, "better": a.better} for a in shown],
        },
    }


def ranked(answers: list[Answer]) -> list[dict[str, Any]]:
    """Rows from best to worst, each with the places that it may have: those clearly better, and clearly worse, counted.

    Two are tied where their difference lies within its noise: the people are the same, so that their part cancels.
    """
    rows = sorted(answers, key=lambda a: -(a.value or 0.0))
    made = []
    for a in rows:
        gaps = [
            ((b.value or 0.0) - (a.value or 0.0), hypot(a.noise or 0.0, b.noise or 0.0)) for b in rows if b is not a
        ]
        first = 1 + sum(gap > noise for gap, noise in gaps)
        last = len(rows) - sum(-gap > noise for gap, noise in gaps)
        made.append({"first": first, "last": last, "reference": a.reference, **_shown(a)})
    return made


def _shown(a: Answer) -> dict[str, Any]:
    keys = ("name", "sha256", "metric", "date", "value", "noise", "sample")
    return {key: value for key, value in asdict(a).items() if key in keys}


def save_board(court: Court, out: str | Path, signer: Signer | None = None) -> dict[str, Any]:
    """Write BOARD.html and BOARD.json, and with a key BOARD.claims.jsonl; what was written."""
    from recveil.report.board import page

    out = Path(out)
    check_writable(out, (".html",))
    if signer is not None and court.settled.seeded:
        raise RecveilError(f"{court.path} was made with a seed: an experiment is not for publication, so not signed")
    document = board(court)
    write_text(out.with_suffix(".json"), json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    write_text(out, page(document))
    files = [out, out.with_suffix(".json")]
    if signer is not None:
        facts = {key: document[key] for key in ("court", "people", "promise", "spent", "left", "recveil")}
        signed = out.with_suffix(".claims.jsonl")
        write_text(signed, claims.claim("judged", _digests(out), facts, signer) + "\n")
        files.append(signed)
    return {"files": [str(file) for file in files], "board": document}


def verify_board(out: str | Path, trust: Mapping[str, Known] | None = None) -> tuple[dict[str, Any], Checked]:
    """A board's document, and what its claims say of the files that stand there."""
    out = Path(out).with_suffix(".html")
    try:
        document = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
        digests = _digests(out)
    except (OSError, ValueError):
        raise RecveilError(f"{out} and {out.with_suffix('.json').name} cannot be read as a board") from None
    text = claims.text_of(Folder(out.with_suffix(".claims.jsonl")))
    return document, claims.check(text, digests, trust, JUDGED)


def _digests(out: Path) -> dict[str, str]:
    files = (out, out.with_suffix(".json"))
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in files}
