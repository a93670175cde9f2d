"""The report as ONE page: measurements in, templates/report.html filled with what they say."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from recveil.report import figures
from recveil.report.controls import row as control_row
from recveil.report.glossary import GLOSSARY, link_first_uses
from recveil.report.methods import methods, rule
from recveil.report.page import markup, render
from recveil.report.pictures import inline
from recveil.report.ratings import order_sentence, skill_sentence
from recveil.report.sheets import SHEETS, describe, interval, number, sheet
from recveil.report.table import ERROR, METRIC, Entry, Report, short
from recveil.report.verdict import closest, headline, named, rating_sentence, sentence, signpost
from recveil.report.words import counted, percent, privacy, promise_sentence, standing, utility

CONTENTS = (
    ("frontier", "Privacy and use"), ("said", "In words"), ("releases", "Releases"), ("curve", "Linkage"),
    ("ranks", "Algorithms"),
    ("numbers", "All numbers"), ("guarantees", "Guarantees"), ("advice", "Advice"), ("methods", "Methods"),
    ("glossary", "Words"),
)  # fmt: skip


def html(report: Report) -> str:
    """The whole page."""
    shown = named(report)
    drawn = {
        "frontier": _both(report, figures.frontier, (930, 400), (222, 300), _frontier_label(report)),
        "curve": _both(report, figures.curve, (940, 380), (222, 280), _curve_label(report)),
        "slopes": _slopes(report),
    }
    sections = {"frontier": drawn["frontier"], "curve": drawn["curve"], "ranks": drawn["slopes"]}
    filters: dict[str, Any] = {
        "short": _short, "parameters": _parameters, "breakable": _breakable, "names_whole": _names_whole,
        "percent": percent, "interval": interval, "number": number, "share": _share, "count_of": counted,
        "control": lambda m: describe(m, m.control),
        "things": lambda kind: "clicks" if kind == "sessions" else kind,
    }  # fmt: skip
    page = render(
        "report.html",
        filters,
        report=report,
        words=report.words,
        source=report.data.get("source", "these data"),
        title=f"{len(report.entries)} ways to release it" if len(report.entries) > 1 else "one release of it, attacked",
        kicker="comparison of releases" if len(report.entries) > 1 else "attacks on a release",
        headline=headline(report),
        signpost=signpost(report.advice),
        three=_three(report, next(iter(shown.values()), None) or closest(report)),
        named=shown,
        closest=None if shown else closest(report),
        contents=[(a, t) for a, t in CONTENTS if sections.get(a, True) and (a != "advice" or report.advice)],
        sheets=[s for name in SHEETS if (s := sheet(report, name)).rows],
        methods=methods(report),
        rule=rule(),
        glossary=GLOSSARY,
        sentence=partial(sentence, report),
        rating=partial(_ratings, report),
        sizes=partial(_sizes, report),
        badge_of=lambda entry: next((badge for badge, e in shown.items() if e is entry), ""),
        status=lambda entry: standing(entry.guarantee),
        promise=lambda entry: promise_sentence(entry.guarantee),
        privacy=privacy,
        utility=utility,
        control=control_row(report),
        **drawn,
    )
    return link_first_uses(page)


def _short(spec: str) -> Any:
    return _breakable(short(spec))


def _parameters(spec: str) -> Any:
    return _breakable(spec.removeprefix(short(spec)).removeprefix(":"))


def _breakable(spec: str) -> Any:
    """A name that may break behind a comma, a colon or an equals sign, never inside a word."""
    from markupsafe import escape

    pieces = re.findall(r"[^,:=]*[,:=]?", spec)
    return markup("<wbr>".join(f'<span class="whole">{escape(piece)}</span>' for piece in pieces if piece))


def _names_whole(text: str) -> Any:
    """Plain text in which names such as dp-streams are not parted at their hyphens."""
    from markupsafe import escape

    return markup(" ".join(str(_breakable(word) if "-" in word else escape(word)) for word in text.split(" ")))


def _ratings(report: Report, entry: Entry) -> str:
    """All that a release is worth to those who predict ratings."""
    return " ".join(filter(None, (say(report, entry) for say in (rating_sentence, skill_sentence, order_sentence))))


def _three(report: Report, entry: Entry | None) -> list[tuple[str, str]]:
    """The three numbers of the release that the sentence names first: found, kept, promised."""
    if entry is None or (found := report.found(entry)) is None or (lift := report.lift(entry)) is None:
        return []
    name, words, g = report.name(entry), report.words, entry.guarantee
    promised = f"epsilon {g.epsilon:g}" if g.epsilon is not None else "no promise"
    return [
        (percent(found.value), f"of the {words.people} an attacker finds in {name}"),
        (percent(lift.value), "of what the data teach beyond popularity a recommender keeps"),
        (
            promised,
            f"for one {g.unit}, {standing(g)}" if g.epsilon is not None and g.unit else "nothing bounds the rest",
        ),
    ]


def _share(value: float) -> str:
    return f"{100 * min(max(value, 0.0), 1.0):.1f}"


def _sizes(report: Report, entry: Entry) -> str:
    """How much is in a release: records or people, items, rows."""
    words = report.words
    who = counted(entry.users, "drawn records", "drawn record") if entry.drawn else counted(
        entry.users, words.people, words.person
    )  # fmt: skip
    items = f"{entry.items:,} of {counted(entry.items_of, words.items, words.item)}, " if entry.items_of else ""
    return f"{who}, {items}{counted(entry.rows, 'rows', 'row')}"


# --- figures --------------------------------------------------------------------------------------------------


def _both(report: Report, draw: Any, wide: tuple[int, int], narrow: tuple[int, int], label: str) -> Any:
    """A figure for a screen and one for a phone, where letters stand for names; nothing where there is none."""
    picture = draw(report, *wide)
    if picture is None:
        return None
    return {"wide": markup(inline(picture, label)), "narrow": markup(inline(draw(report, *narrow), label))}


def _frontier_label(report: Report) -> str:
    return "Frontier: " + "; ".join(
        f"{e.spec}: attacker finds {percent(f.value)}, recommender keeps {percent(u.value)}"
        for e in report.entries
        if (f := report.found(e)) and (u := report.lift(e))
    )


def _curve_label(report: Report) -> str:
    return "Linkage curve: " + "; ".join(
        f"{e.spec}: " + ", ".join(f"{m.params['known']} known {percent(m.value)}" for m in report.linkage(e))
        for e in report.entries
    )


def _slopes(report: Report) -> list[tuple[Entry, list[tuple[str, Any]]]]:
    """For each release the order of algorithms, by lists and by ratings, each with its tau."""
    made = []
    for entry in report.entries:
        shown = []
        for metric in (METRIC, ERROR):
            picture = figures.slope(report, entry, metric)
            if picture is not None:
                label = f"Order of algorithms by {metric} on the real data and on {entry.spec}"
                shown.append((_tau(report, entry, metric), markup(inline(picture, label))))
        if shown:
            made.append((entry, shown))
    return made


def _tau(report: Report, entry: Entry, metric: str) -> str:
    name = {METRIC: "Lists", ERROR: "Ratings"}[metric]
    agreed = [m for m in report.named("agreement", entry.spec) if str(m.params.get("by", metric)).startswith(metric)]
    return f"{name}: Kendall's tau {number(agreed[0])} {interval(agreed[0])}" if agreed else name
