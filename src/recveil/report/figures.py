"""The figures, by altair: privacy/utility frontier, linkage curve, slope graphs of algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recveil.measurement import Measurement
from recveil.report.controls import alone
from recveil.report.labels import spread, text_width
from recveil.report.pictures import INK, dress, png, series, svg
from recveil.report.table import ERROR, METRIC, Entry, Report
from recveil.report.words import FEW

FLOOR, CEILING = -0.5, 1.25  # lift is drawn within; what lies beyond stands at the edge
PHONE = 500  # below this width letters stand for names
LABEL = 12.5  # the size of a label of a point or line


def frontier(report: Report, width: int, height: int) -> Any:
    """Privacy against utility: how many the attacker finds, and what a recommender learns; one mark a mechanism."""
    import altair as alt

    points: list[dict[str, Any]] = []
    for number, entry in enumerate(report.entries):
        found, lift = report.found(entry), report.lift(entry)
        if found is None or lift is None:
            continue
        y, y0, y1 = (min(max(v, FLOOR), CEILING) for v in (lift.value, lift.low, lift.high))
        at = {"x": found.value, "x0": found.low, "x1": found.high, "y": y, "y0": y0, "y1": y1}
        points.append({"label": _label(report, entry, width), **at, **series(number)})
    if not points:
        return None
    control = {  # its line may stand at the edge, so it says where it belongs
        f"public items alone, {m.value:.0%}": min(max(m.value, FLOOR), CEILING) for m in [alone(report)] if m
    }
    bottom = min(-0.1, *control.values(), *(p["y0"] for p in points)) - 0.04
    top = max(1.1, *control.values(), *(p["y1"] for p in points)) + 0.04
    right = min(1.0, max(0.2, *(p["x1"] for p in points)) + 0.06)
    left = -0.03 * right
    x = alt.X("x:Q", scale=alt.Scale(domain=[left, right], nice=False, zero=False))
    x.title = (
        f"{report.words.people} found by an attacker who knows {_known(report)} {report.words.items} (left is better)"
    )
    if width < PHONE:
        x.title = f"found, knowing {_known(report)} {report.words.items} (left is better)"
    x.axis = alt.Axis(format=".0%", values=_ticks(0, right), grid=False, zindex=1)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[bottom, top], nice=False))
    y.title = "kept of what the real data teach (up is better)"
    y.axis = alt.Axis(format=".0%", values=_ticks(bottom, top), grid=False, zindex=1)
    colour = alt.Color("colour:N", scale=None, legend=None)
    marks = alt.Chart(_data(points))
    lines = [{"y": 1.0, "text": "the real data", "at": right}, {"y": 0.0, "text": "most popular", "at": right}]
    lines += [{"y": value, "text": said, "at": right} for said, value in control.items()]
    corner = [{"x": left, "x2": FEW, "y": 0.0, "y2": top}]
    layers = [
        alt.Chart(_data(corner)).mark_rect(color=INK["good"]).encode(x=x, x2="x2:Q", y=y, y2="y2:Q"),
        alt.Chart(_data(lines)).mark_rule(color=INK["faint"], strokeDash=[4, 4]).encode(y=y),
        alt.Chart(_data(lines))
        .mark_text(color=INK["muted"], align="right", dy=-8, fontSize=11.5)
        .encode(x="at:Q", y=y, text="text:N"),
        marks.mark_rule(strokeWidth=1.6, opacity=0.55).encode(x=x, y="y0:Q", y2="y1:Q", color=colour),
        marks.mark_rule(strokeWidth=1.6, opacity=0.55).encode(x="x0:Q", x2="x1:Q", y=y, color=colour),
    ]
    px, py = width / (right - left), height / (top - bottom)
    written = [(width - 90, (top - line["y"]) * py - 17, width, (top - line["y"]) * py - 1) for line in lines]
    at_pixels = [((p["x"] - left) * px, (top - p["y"]) * py, text_width(p["label"], LABEL)) for p in points]
    for p, (lx, ly, align) in zip(points, spread(at_pixels, width, height, written), strict=True):
        p.update(lx=lx / px + left, ly=top - ly / py, align=align)
    away = [p for p in points if abs(p["ly"] - p["y"]) * py > 1]
    if away:
        layers.append(
            alt.Chart(_data(away))
            .mark_rule(strokeWidth=1, opacity=0.6)
            .encode(x=x, y=y, x2="lx:Q", y2="ly:Q", color=colour)
        )
    layers.append(
        marks.mark_point(filled=True, opacity=1, size=110).encode(
            x=x, y=y, color=colour, shape=alt.Shape("shape:N", scale=None, legend=None)
        )
    )
    for align in ("left", "right"):
        side = [p for p in points if p["align"] == align]
        layers += _text(side, "lx:Q", "ly:Q", align, 3 if align == "left" else -3) if side else []
    return dress(alt.layer(*layers), width, height)


def curve(report: Report, width: int, height: int) -> Any:
    """How many people the strongest attacker finds who knows 1, 2, 4, ... items; strangers as a dashed line."""
    import altair as alt

    rows: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    control: dict[int, float] = {}
    for number, entry in enumerate(report.entries):
        line = report.linkage(entry)
        for m in line:
            at = {"known": m.params["known"], "value": m.value, "low": m.low, "high": m.high}
            rows.append({"mechanism": entry.spec, **at, **series(number)})
            if m.control is not None:
                control[at["known"]] = max(m.control, control.get(at["known"], 0.0))
        if line:
            ends.append({**rows[-1], "label": _label(report, entry, width)})
    if not rows:
        return None
    known = sorted({r["known"] for r in rows})
    height_of = height / 1.02
    levels = [(0.0, (1.02 - e["value"]) * height_of, 0.0) for e in ends]
    for e, (_, level, _side) in zip(ends, spread(levels, 0, height, column=True), strict=True):
        e.update(known=known[-1], level=1.02 - level / height_of)
    x = alt.X("known:Q", scale=alt.Scale(type="sqrt", domain=[known[0] * 0.9, known[-1]], nice=False, zero=False))
    x.title = f"{report.words.items} of a {report.words.person} that the attacker knows"
    x.axis = alt.Axis(values=known, format="d", grid=False)
    y = alt.Y("value:Q", scale=alt.Scale(domain=[0, 1.02], nice=False), title=f"{report.words.people} found")
    y.axis = alt.Axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1])
    colour = alt.Color("colour:N", scale=None, legend=None)
    chart, detail = alt.Chart(_data(rows)), alt.Detail("mechanism:N")
    layers = [
        chart.mark_area(opacity=0.14).encode(x=x, y="low:Q", y2="high:Q", color=colour, detail=detail),
        chart.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, detail=detail),
        chart.mark_point(filled=True, opacity=1, size=55).encode(
            x=x, y=y, color=colour, shape=alt.Shape("shape:N", scale=None, legend=None)
        ),
    ]
    if control:
        strangers = [{"known": k, "value": v} for k, v in sorted(control.items())]
        dashed = {"color": INK["ink"], "strokeDash": [4, 4], "strokeWidth": 1.6}
        layers.append(alt.Chart(_data(strangers)).mark_line(**dashed).encode(x=x, y=y))
    layers += _text(ends, "known:Q", "level:Q", "left", 10)
    room = 16 if width < PHONE else max(text_width(e["label"], LABEL) for e in ends) + 12
    return dress(alt.layer(*layers), int(width - room), height, padding=4 + room / 6)


def slope(report: Report, entry: Entry, metric: str = METRIC, width: int = 70) -> Any:
    """The order of algorithms on the real data and on a release; those that change places are drawn strong."""
    import altair as alt

    real, released = report.algorithms(None, metric), report.algorithms(entry, metric)
    names = [n for n in real if n in released]
    if len(names) < 2:
        return None
    before, after = (_ranks({n: found[n] for n in names}, metric) for found in (real, released))
    rows: list[dict[str, Any]] = []
    for n in names:
        moved = before[n] != after[n]
        tone = {"name": n, "colour": INK["s0"] if moved else INK["muted"], "weight": 2.6 if moved else 1.4}
        arrow = "" if not moved else (" ▲" if after[n] < before[n] else " ▼")
        rows.append({**tone, "side": 0, "rank": before[n], "text": f"{n}  {_short(real[n])}"})
        rows.append({**tone, "side": 1, "rank": after[n], "text": f"{_short(released[n])}  {n}{arrow}"})
    for side, text in ((0, "real data"), (1, "this release")):
        rows.append({"side": side, "rank": 0, "text": text, "colour": INK["muted"], "head": True})
    x = alt.X("side:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=None)
    y = alt.Y("rank:Q", scale=alt.Scale(domain=[len(names) + 0.4, -0.4], nice=False), axis=None)
    colour = alt.Color("colour:N", scale=None, legend=None)
    chart = alt.Chart(_data([r for r in rows if "head" not in r]))
    weight = alt.StrokeWidth("weight:Q", scale=None, legend=None)
    layers = [
        chart.mark_line().encode(x=x, y=y, detail="name:N", color=colour, strokeWidth=weight),
        chart.mark_point(filled=True, opacity=1, size=45).encode(x=x, y=y, color=colour),
    ]
    for side, align, dx in ((0, "right", -9), (1, "left", 9)):
        texts = alt.Chart(_data([r for r in rows if r["side"] == side]))
        layers.append(texts.mark_text(align=align, dx=dx, fontSize=12).encode(x=x, y=y, text="text:N", color=colour))
    widest = max(text_width(r["text"], 12) for r in rows)
    return dress(alt.layer(*layers), width, 24 * (len(names) + 1), padding=4 + widest / 6)


def save(report: Report, folder: str | Path) -> list[Path]:
    """Every figure as an SVG and a PNG file."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    charts = {"frontier": frontier(report, 760, 420), "linkage": curve(report, 860, 380)}
    for e in report.entries:
        charts |= {f"ranks-{report.key(e)}-{metric}": slope(report, e, metric) for metric in (METRIC, ERROR)}
    written = []
    for name, chart in charts.items():
        if chart is not None:
            (folder / f"{name}.svg").write_text(svg(chart), encoding="utf-8")
            (folder / f"{name}.png").write_bytes(png(chart))
            written += [folder / f"{name}.svg", folder / f"{name}.png"]
    return written


def _text(rows: list[dict[str, Any]], x: str, y: str, align: Any, dx: float) -> list[Any]:
    """Labels, each on a halo of the page's colour, so that lines under it do not cut it."""
    import altair as alt

    chart = alt.Chart(_data(rows))
    style = {"align": align, "dx": dx, "fontSize": LABEL, "fontWeight": 600}
    at = {"x": alt.X(x), "y": alt.Y(y), "text": alt.Text("label:N")}
    halo = chart.mark_text(**style, stroke=INK["paper"], strokeWidth=4, strokeJoin="round", color=INK["paper"])
    return [
        halo.encode(**at),
        chart.mark_text(**style).encode(**at, color=alt.Color("colour:N", scale=None, legend=None)),
    ]


def _known(report: Report) -> int:
    return next((int(m.params["known"]) for e in report.entries if (m := report.found(e)) is not None), 0)


def _label(report: Report, entry: Entry, width: int) -> str:
    return report.key(entry) if width < PHONE else f"{report.key(entry)} {report.name(entry)}"


def _short(m: Measurement) -> str:
    return f"{m.value:.3f}".removeprefix("0")


def _ranks(found: dict[str, Measurement], metric: str) -> dict[str, int]:
    order = sorted(found, key=lambda n: found[n].value, reverse=metric != ERROR)
    return {name: place + 1 for place, name in enumerate(order)}


def _ticks(low: float, high: float) -> list[float]:
    step = 0.25 if high - low > 0.6 else 0.05 if high - low < 0.25 else 0.1
    return [round(step * i, 4) for i in range(round(-2 / step), round(2 / step)) if low <= step * i <= high]


def _data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Data(values=rows)
