"""The report as ONE page: no script, no request, light and dark, phone and paper. Pictures are inline SVG."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

from recveil.measurement import Measurement
from recveil.report import figures
from recveil.report.methods import methods
from recveil.report.pictures import inline
from recveil.report.sheets import SHEETS, Sheet, describe, interval, number, sheet
from recveil.report.table import ERROR, METRIC, Entry, Report, short
from recveil.report.verdict import (
    STATUS,
    best,
    closest,
    headline,
    percent,
    privacy,
    rating_sentence,
    sentence,
    utility,
)


def html(report: Report) -> str:
    """The whole page."""
    style = files("recveil.report").joinpath("style.css").read_text(encoding="utf-8")
    parts = [_kicker(report), _verdict(report), _nav(), _frontier(report), _cards(report), _curve(report)]
    parts += [_slopes(report), _tables(report), _guarantees(report), _advice(report), _methods(report)]
    title = f"{report.data.get('source', 'data')}: {len(report.entries)} ways to release it"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, parts))
        + "\n</main>\n</body>\n</html>\n"
    )


def _(text: Any) -> str:
    return escape(str(text), quote=True)


def _key(report: Report, entry: Entry) -> str:
    return f'<span class="key" style="--c:var(--s{report.entries.index(entry) % 8})">{report.key(entry)}</span>'


def _spec(entry: Entry) -> str:
    """Name and parameters, the latter small and apart, so that a long spec stays readable."""
    rest = entry.spec.removeprefix(short(entry.spec)).removeprefix(":").replace(",", ", ")
    return _(short(entry.spec)) + (f"<small>{_(rest)}</small>" if rest else "")


def _kicker(report: Report) -> str:
    data, words = report.data, report.words
    facts = [f"<b>recveil</b> comparison of releases of {_(data.get('source', 'these data'))}"]
    if "rows" in data:
        what = "clicks" if data["kind"] == "sessions" else data["kind"]
        facts.append(
            f"{data['rows']:,} {_(what)} of {data['items']:,} {_(words.items)} by {data['users']:,} {_(words.people)}"
        )
    if "held_out" in report.meta:
        facts.append(f"{report.meta['held_out']:,} {_(words.people)} held out as strangers and judges")
    return '<div class="kicker">' + "".join(f"<span>{f}</span>" for f in facts) + "</div>"


def _verdict(report: Report) -> str:
    chosen = best(report)
    shown = chosen or closest(report)
    lines = [f"<h1>{_(headline(report))}</h1>"]
    if shown is not None:
        lead = "" if chosen else f"The closest is {_key(report, shown)} <b>{_(shown.spec)}</b>. "
        lines.append(f"<p>{lead}{_(sentence(report, shown))}</p>")
        promise = f"Its promise ({STATUS[shown.guarantee.status]}): {shown.guarantee.sentence}"
        lines.append(f'<p class="aside">{_(promise)}</p>')
    lines.append(
        '<p class="aside">An attack that fails proves nothing about the next one; only a proved guarantee does. '
        "Every number below stands with its 95% interval.</p>"
    )
    return f'<div class="verdict" id="verdict">{"".join(lines)}</div>'


def _nav() -> str:
    places = [("frontier", "Privacy and use"), ("releases", "Releases"), ("curve", "Linkage"), ("ranks", "Algorithms")]
    places += [("numbers", "All numbers"), ("guarantees", "Guarantees"), ("advice", "Advice"), ("methods", "Methods")]
    return '<nav aria-label="Contents">' + "".join(f'<a href="#{a}">{t}</a>' for a, t in places) + "</nav>"


def _section(anchor: str, title: str, lead: str, body: str) -> str:
    lead = f'<p class="lead">{lead}</p>' if lead else ""
    return f'<section id="{anchor}"><h2>{title}</h2>{lead}{body}</section>' if body else ""


# --- cards ----------------------------------------------------------------------------------------------------


def _cards(report: Report) -> str:
    chosen = best(report)
    cards = []
    for entry in report.entries:
        found, lift = report.found(entry), report.lift(entry)
        flag = '<span class="flag">to consider</span>' if entry is chosen else ""
        promise = f"<b>{_(STATUS[entry.guarantee.status].capitalize())}.</b> {_(entry.guarantee.sentence)}"
        cards.append(
            f'<article class="card{" chosen" if entry is chosen else ""}" '
            f'style="--c:var(--s{report.entries.index(entry) % 8})">'
            f"<header>{_key(report, entry)}<h3>{_spec(entry)}</h3>{flag}</header>"
            + _meter("attacker finds", found, privacy(found))
            + _meter("recommender keeps", lift, utility(lift), hollow=True)
            + (f"<p>{_(off)}</p>" if (off := rating_sentence(report, entry)) else "")
            + f'<p class="status">Promise: {promise}</p>'
            + f"<details><summary>What was done</summary><p>{_(entry.done)}</p></details></article>"
        )
    lead = (
        f"Two numbers decide: how many {_(report.words.people)} an attacker finds (short bar is good), and what a "
        "recommender keeps of what the real data teach beyond popularity (long bar is good). The bracket on each bar "
        "is the 95% interval."
    )
    return _section("releases", "The releases", lead, f'<div class="cards">{"".join(cards)}</div>')


def _meter(name: str, m: Measurement | None, label: str, hollow: bool = False) -> str:
    if m is None:
        return f'<div class="meter"><span>{name}</span><span class="value none">{_(label)}</span></div>'
    low, value, high = (100 * min(max(v, 0.0), 1.0) for v in (m.low, m.value, m.high))
    control = f"; claimed in error of strangers: {percent(m.control)}" if m.control is not None else ""
    return (
        f'<div class="meter"><span>{name}</span>'
        f'<span class="value">{percent(m.value)} <small>{interval(m)}</small></span>'
        f'<div class="bar{" hollow" if hollow else ""}"><i style="width:{value:.1f}%"></i>'
        f'<b style="left:{low:.1f}%;width:{high - low:.1f}%"></b></div>'
        f'<span class="says">{_(label)}{control}</span></div>'
    )


# --- figures --------------------------------------------------------------------------------------------------


def _both(report: Report, draw: Any, wide: tuple[int, int], narrow: tuple[int, int], label: str) -> str:
    """A figure for a screen and one for a phone, where letters stand for names and a key explains them."""
    picture = draw(report, *wide)
    if picture is None:
        return ""
    key = "".join(f"<li>{_key(report, e)} {_(e.spec)}</li>" for e in report.entries)
    return (
        f'<div class="wide">{inline(picture, label)}</div>'
        f'<div class="narrow">{inline(draw(report, *narrow), label)}</div>'
        f'<ul class="legend narrow">{key}</ul>'
    )


def _frontier(report: Report) -> str:
    label = "Frontier: " + "; ".join(
        f"{e.spec}: attacker finds {percent(f.value)}, recommender keeps {percent(u.value)}"
        for e in report.entries
        if (f := report.found(e)) and (u := report.lift(e))
    )
    picture = _both(report, figures.frontier, (930, 430), (290, 330), label)
    lead = (
        "Up and to the left is better. Whiskers are 95% intervals. In the shaded corner fewer than one in ten is "
        "found, and the lift is above 40%."
    )
    return _section("frontier", "Privacy and use", lead, picture and f"<figure>{picture}</figure>")


def _curve(report: Report) -> str:
    label = "Linkage curve: " + "; ".join(
        f"{e.spec}: " + ", ".join(f"{m.params['known']} known {percent(m.value)}" for m in report.linkage(e))
        for e in report.entries
    )
    picture = _both(report, figures.curve, (940, 380), (290, 300), label)
    lead = (
        f"The strongest of our attackers knows some {_(report.words.items)} of a {_(report.words.person)}, drawn at "
        "random, and picks a released record. The dashed line is the same attack on people who are not in the data: "
        "how often it claims a record in error, in the worst of the releases."
    )
    return _section("curve", "What a little knowledge finds", lead, picture and f"<figure>{picture}</figure>")


def _slopes(report: Report) -> str:
    parts = []
    for entry in report.entries:
        shown = []
        for metric in (METRIC, ERROR):
            picture = figures.slope(report, entry, metric)
            if picture is not None:
                label = f"Order of algorithms by {metric} on the real data and on {entry.spec}"
                shown.append(f"<p>{_tau(report, entry, metric)}</p><figure>{inline(picture, label)}</figure>")
        if shown:
            parts.append(f"<div><h3>{_key(report, entry)}<span>{_spec(entry)}</span></h3>{''.join(shown)}</div>")
    lead = (
        "If outsiders choose an algorithm on the release, do they choose right? Best on top, by the quality of lists "
        "(NDCG) and, where there are ratings, by the error of predictions (RMSE). Those that change places are drawn "
        "strong and carry an arrow; tau counts pairs within noise as ties, so a small change may not move it."
    )
    body = f'<div class="slopes">{"".join(parts)}</div>' if parts else ""
    return _section("ranks", "The order of algorithms", lead, body)


def _tau(report: Report, entry: Entry, metric: str) -> str:
    name = {METRIC: "Lists", ERROR: "Ratings"}[metric]
    agreed = [m for m in report.named("agreement", entry.spec) if str(m.params.get("by", metric)).startswith(metric)]
    return f"{name}: Kendall's tau {number(agreed[0])} {interval(agreed[0])}" if agreed else name


# --- tables ---------------------------------------------------------------------------------------------------


def _tables(report: Report) -> str:
    made = [_table(report, s) for name in SHEETS if (s := sheet(report, name)).rows]
    left = "".join(f"<li>{_(line)}</li>" for line in report.left_out)
    body = "".join(made) + (f'<p class="lead">Not measured:</p><ul class="lead">{left}</ul>' if left else "")
    return _section(
        "numbers",
        "All numbers",
        "Value, 95% interval, and the same for strangers where it exists. Linkage is that of the strongest attacker.",
        body,
    )


def _table(report: Report, s: Sheet) -> str:
    real = any(row.real is not None for row in s.rows)
    head = "<th></th>" + ("<th>real data</th>" if real else "")
    head += "".join(f"<th>{_key(report, e)} <span>{_spec(e)}</span></th>" for e in report.entries)
    body = []
    for above, row in zip((None, *s.rows), s.rows, strict=False):
        title = _(row.title) if above is None or above.title != row.title else ""
        note = f"<small>{_(row.detail)}</small>" if row.detail else ""
        cells = ([row.real] if real else []) + list(row.cells)
        body.append(f"<tr><th scope=row>{title}{note}</th>{''.join(map(_cell, cells))}</tr>")
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    if s.folded:
        return f"<details><summary>{_(s.title)} ({len(s.rows)} rows)</summary>{table}</details>"
    return f"<h3>{_(s.title)}</h3>{table}"


def _cell(m: Measurement | None) -> str:
    if m is None:
        return '<td class="none">not measured</td>'
    control = f"<small>strangers {describe(m, m.control)}</small>" if m.control is not None else ""
    return f"<td><strong>{number(m)}</strong> {interval(m)}{control}</td>"


def _guarantees(report: Report) -> str:
    rows = []
    for e in report.entries:
        g = e.guarantee
        delta = f"<small>delta {g.delta:g}</small>" if g.delta else ""
        epsilon = "none" if g.epsilon is None else f"{g.epsilon:g}{delta}"
        unit = "nobody" if g.unit is None else f"one {_(g.unit)}<small>{_(g.neighbours)}</small>"
        given = f"<small>Taken to be public: {_(g.given)}</small>" if g.given else ""
        rows.append(
            f"<tr><th scope=row>{_key(report, e)} <span>{_spec(e)}</span></th><td>{_(STATUS[g.status])}</td>"
            f'<td data-name="epsilon">{epsilon}</td><td data-name="protects">{unit}</td>'
            f'<td class="text">{_(g.sentence)}{given}</td></tr>'
        )
    head = "<tr><th></th><th>status</th><th>epsilon</th><th>protects</th><th>in words</th></tr>"
    body = f'<div class="scroll"><table class="stack"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'
    lead = (
        "What holds whatever an attacker knows or tries. Proved: there is a theorem in the documentation. Claimed: by "
        "a paper, not by us. Refuted: shown not to hold. Seeded here: proved for a release without a seed, which this "
        "experiment is not."
    )
    return _section("guarantees", "Guarantees", lead, body)


def _advice(report: Report) -> str:
    items = "".join(
        f'<li class="{"yes" if a.fits else "no"}"><b>{_(a.mechanism)}{"" if a.fits else " (does not fit)"}</b>'
        f"<span>{_(a.why)}</span></li>"
        for a in report.advice
    )
    lead = f"Which mechanisms fit {_(report.data.get('kind', 'these'))} data, and for what."
    return _section("advice", "Advice", lead, items and f'<ul class="advice">{items}</ul>')


def _methods(report: Report) -> str:
    lines = "".join(f"<p><b>{_(title)}.</b> {_(text)}</p>" for title, text in methods(report))
    version = _(report.meta.get("version", ""))
    foot = f"<footer>recveil {version}. For the owner of the data; not part of a bundle.</footer>"
    return _section("methods", "How this was measured", "", f'<div class="methods">{lines}</div>{foot}')
