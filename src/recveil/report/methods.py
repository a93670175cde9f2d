"""The small print: how the numbers came about, as titled sentences."""

from __future__ import annotations

from recveil.report.table import Report
from recveil.report.verdict import COIN, MEMBERSHIP
from recveil.report.words import FEW, counted


def rule() -> str:
    """By what a release is named in the verdict."""
    return (
        f"A release is named where fewer than {FEW:.0%} are found, no attack tells who is in the data (AUC certainly "
        f"above {MEMBERSHIP:g}), and the lift lies certainly above 0; of those with a promise that means something, "
        "and of those without one, it is the one with the highest lift."
    )


def methods(report: Report) -> list[tuple[str, str]]:
    """Titled paragraphs; only what applies to this report."""
    meta, words = report.meta, report.words
    splits = meta.get("splits", 1)
    found = {
        "Who is who": (
            f"{counted(meta.get('held_out', 0), words.people, words.person)} were drawn at random and kept out: no "
            "mechanism saw them. "
            "They are the strangers of the attacks and the test people of the recommenders. All mechanisms got the "
            f"same {counted(meta.get('trained', 0), words.people, words.person)}, and the same seeds."
        ),
        "Linkage": (
            f"The attacker knows some {words.items} of a {words.person} and looks for her record in the release. "
            "Where several records fit alike, success is 1 / candidates. The verdict takes the strongest of our "
            f"attackers who knows {report.known} random {words.items}. Strangers: the share of people not in the "
            "data for whom the attacker still names a single record."
        ),
        "Lift": (
            "(release - most-popular) / (real - most-popular), with the referee trained on the release, on nothing "
            "but popularity, and on the real rows. 100%: as good as the real data. 0%: no better than naming what is "
            "popular. A plain ratio to the real data misleads, since popularity alone reaches most of it. The "
            f"referee of the verdict ({report.judge() or 'none'}) is the best one on the real data, chosen without "
            "looking at any release."
        ),
        "Judges": (
            f"A recommender trained on a release is asked to continue the profiles of {_judges(report)} from a "
            "part of what they did; it is scored on the rest. Its settings are fixed and were never tuned on a release."
        ),
        "Intervals": (
            "95%: Wilson intervals for shares, bootstrap over people elsewhere, paired where two sides are compared. "
            "They cover the choice of people, not the luck of one split or of one run of a mechanism; this report "
            f"rests on {splits} split{'s' if splits > 1 else ''}."
        ),
        "Labels": (
            f"“Finds few”: the interval ends below {FEW:.0%}. “No better than a blind guess”: it does not lie above "
            f"chance. “Better than by a coin toss”: the AUC's interval lies above {COIN:g}. “A promise that means "
            "something”: proved, with an epsilon of at most 10 and a delta below one over the number of people. Strong "
            "attacks (shadow models) decide before weak ones (distances)."
        ),
    }
    if meta.get("quick"):
        found["Quick run"] = "Small samples and the quick referees: good for a first look, not for signing."
    if meta.get("seeded", True):
        found["Seeds"] = (
            "The releases of this report were made with seeds, so that it can be repeated. They are experiments and "
            "were not written to disk; make the one to publish with recveil release, without a seed."
        )
    return list(found.items())


def _judges(report: Report) -> str:
    """Whose profiles are continued: all who were held out, or as many of them as give a narrow interval."""
    judges, held_out = report.meta.get("judges"), report.meta.get("held_out")
    if judges is None or judges == held_out:
        return "held-out real people"
    return f"{judges:,} of the held-out real people"
