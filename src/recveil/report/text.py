"""The report in the terminal."""

from __future__ import annotations

from functools import partial
from textwrap import wrap

from recveil.report.controls import CONTROL, row
from recveil.report.table import Report
from recveil.report.verdict import headline, sentence, signpost
from recveil.report.words import privacy, standing, utility, with_interval


def text(report: Report, width: int = 100, brief: bool = False) -> list[str]:
    """Verdict and a table of the two headline numbers; unless brief, a sentence for each mechanism."""
    filled = partial(wrap, width=width, break_on_hyphens=False)  # dp-streams is one name
    lines = [*filled(headline(report)), *filled(signpost(report.advice)), ""]
    ordered = any(report.sequence_lift(e) for e in report.entries)
    rows = [
        ("", "mechanism", "attacker finds", "strangers", "recommender keeps", *["of the order"] * ordered, "promise")
    ]
    for e in report.entries:
        found, lift, order = report.found(e), report.lift(e), report.sequence_lift(e)
        rows.append(
            (
                report.key(e),
                e.spec,
                with_interval(found) if found else privacy(None),
                f"{found.control:.1%}" if found and found.control is not None else "",
                with_interval(lift) if lift else utility(None),
                *[with_interval(order) if order else ""] * ordered,
                standing(e.guarantee),
            )
        )
    if any(report.lift(e) or report.advantage(e) for e in report.entries):
        empty = [""] * (ordered + 1)
        rows += [("", "most popular", "", "", "0%", *empty), ("", CONTROL, "", "", row(report), *empty)]
    widths = [max(len(line[i]) for line in rows) for i in range(len(rows[0]))]
    shown = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in rows]
    lines += [shown[0], "  ".join("-" * w for w in widths), *shown[1:]]
    if brief:
        return lines
    lines.append("")
    for e in report.entries:
        lines += filled(f"{report.key(e)}  {sentence(report, e)}", subsequent_indent="   ")
    if report.skipped:
        lines += ["", *(line for why in report.skipped for line in filled(f"Not measured: {why}"))]
    return lines
