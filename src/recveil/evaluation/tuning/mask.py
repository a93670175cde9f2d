"""mask: the p that maximises P(P) / MAE(P), its plateau, and the curve as a figure."""

from __future__ import annotations

from typing import Any

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.tuning import Progress, Tuned
from recveil.mechanisms.mask import Mask, bit_epsilon
from recveil.mechanisms.mask.choose_p import Choice, choose_p, protection
from recveil.mechanisms.spec import text
from recveil.randomness import source


def tune_mask(data: Interactions, spec: str, keep: str | None, seed: int | None, progress: Progress) -> Tuned:
    """The paper's choice of p. It weighs protection against similarity itself, so there is no bound to keep."""
    if ":" in spec:
        raise RecveilError("mask has no parameter but the one that is tuned; write --with mask")
    if keep is not None:
        raise RecveilError("mask chooses p by P(P) / MAE(P) and takes no --keep; leave it out")
    choice = choose_p(data, chance=source(seed).derive("tune"), progress=progress)
    spec = text(Mask(choice.p, tuned=True))
    low, high = choice.plateau
    at = choice.grid.index(choice.p)
    largest = float(protection(0.5, choice.density))
    lines = [
        f"p = {choice.p:g} maximises P(P) / MAE(P): {choice.ratio[at]:.1f}; within 1% of that from {low:g} to {high:g}",
        f"P(P) = {choice.protection[at]:.2f} on a scale that ends at {largest:.2f} for these data, not at 100",
        f"MAE(P) = {choice.error[at]:.4f}; epsilon = {bit_epsilon(choice.p):.3g} for each single bit",
        f"simulated {choice.repeats} times on {choice.users:,} users x {choice.items:,} items; use it as --with {spec}",
    ]
    if choice.at_edge:
        lines.append("the best p is the last one tried: the optimum may lie beyond it")
    return Tuned(spec, tuple(lines), choice.record(), lambda: curve_chart(choice))


def curve_chart(choice: Choice) -> Any:
    """P(P) / MAE(P), P(P) and MAE(P) over p, the 1% plateau shaded and the chosen p marked (altair)."""
    import altair as alt

    rows = choice.record()["curve"]
    plateau = alt.Chart(alt.Data(values=[{"low": choice.plateau[0], "high": choice.plateau[1]}]))
    chosen = alt.Chart(alt.Data(values=[{"p": choice.p}]))
    panels = []
    span = alt.Scale(domain=[0.5, 1])
    x = alt.X("p:Q", title="p, the probability to keep a bit", scale=span)
    for name, title in (("ratio", "P(P) / MAE(P)"), ("protection", "P(P)"), ("error", "MAE(P)")):
        shade = plateau.mark_rect(opacity=0.15).encode(x=alt.X("low:Q", title="", scale=span), x2="high:Q")
        line = alt.Chart(alt.Data(values=rows)).mark_line(point=True).encode(x=x, y=alt.Y(f"{name}:Q", title=title))
        mark = chosen.mark_rule(strokeDash=[4, 3]).encode(x=x)
        panels.append((shade + line + mark).properties(width=420, height=200 if name == "ratio" else 120))
    return alt.vconcat(*panels).properties(
        title=f"MASK: p = {choice.p:g}, within 1% from {choice.plateau[0]:g} to {choice.plateau[1]:g}"
    )
