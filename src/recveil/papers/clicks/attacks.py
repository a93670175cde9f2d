"""Table 8 and table 10 of the clicks paper: the KNN attack against disclosure, and against strategies."""

from __future__ import annotations

import numpy as np

from recveil.clicks.game import STRATEGIES
from recveil.clicks.profiles import Clicks, disclosure
from recveil.clicks.replay import replay
from recveil.kernels.clicks import CHANGE
from recveil.papers.claim import Claim
from recveil.papers.clicks.experiments import Attacked, knn_attack, partial, precision, reconstruction

TABLE_8 = {  # Jester, 0-based: disclosure, auxiliary items, extracted, accuracy
    7: (118.57, [0, 3, 6, 7, 5], 8.24, 98.00),
    62: (93.21, [1, 3, 4, 5, 0], 11.63, 85.71),
    303: (70.23, [5, 6, 7, 9, 10], 20.91, 65.71),
}
TABLE_10 = {"basic": (28.87, 82.12), "careful": (24.63, 60.53), "smart": (27.02, 55.67)}


def attacks(of: Clicks, name: str, known: int, targets: int | None) -> list[Claim]:
    """Whether who discloses more is attacked more accurately, beside guessing and the size of profiles."""
    from scipy.stats import spearmanr

    told, size = disclosure(of), np.bincount(of.data.user, minlength=of.users).astype(float)
    claims = []
    for similarity in ("agreement", "cosine"):
        found = knn_attack(of, similarity, known=known, targets=targets)
        x = told[found.people]
        rho = float(spearmanr(x, found.accuracy).statistic)
        control = float(spearmanr(x, found.control).statistic)
        share = float(spearmanr(x, found.extracted).statistic)
        given = partial(x, found.accuracy, size[found.people])
        claims.append(
            Claim(
                f"table 8, {name}", f"the more disclosure, the more accurate the attack: similarity by {similarity}",
                "grows", rho, "compatible" if rho > 0 else "not reproduced",
                why=f"Rank correlation over {len(found.people)} targets, {known} random items known, 5 rounds; mean "
                f"accuracy {found.accuracy.mean():.1%}. Given the number of clicks it is {given:.2f}. To guess the 35 "
                f"most liked items, without any attack, is right in {found.control.mean():.1%} and correlates with "
                f"{control:.2f}. The share extracted correlates with {share:.2f}.",
            )
        )  # fmt: skip
    return claims


def listed_users(jokes: Clicks) -> list[Claim]:
    """The attacks on the users whom table 8 lists."""
    facts = {user: items for user, (_, items, _, _) in TABLE_8.items()}
    runs: dict[str, Attacked] = {s: knn_attack(jokes, s, facts=facts) for s in ("agreement", "cosine")}
    claims = []
    for k, (user, (_, _, extracted, right)) in enumerate(TABLE_8.items()):
        ours = {s: (100 * run.accuracy[k], 100 * run.extracted[k]) for s, run in runs.items()}
        hit = any(abs(a - right) < 0.05 and abs(e - extracted) < 0.05 for a, e in ours.values())
        shown = "; ".join(f"by {s}: accuracy {a:.2f}, extracted {e:.2f}" for s, (a, e) in ours.items())
        claims.append(
            Claim(
                "table 8", f"accuracy of the attack on Jester's user {user}, %", right, float(ours["agreement"][0]),
                "reproduced" if hit else "not reproduced",
                why=f"{shown}; the paper extracts {extracted} %. The caption says 5 rounds, the text 10; the number of "
                "recommendations in a round is not stated (7 here).",
            )
        )  # fmt: skip
    return claims


def table_10(of: Clicks) -> list[Claim]:
    """Precision and attack if everyone plays a strategy."""
    made = {name: replay(of, by).made for name, by in STRATEGIES.items()}
    signed, clicked = (
        {n: 100 * precision(c, reconstruction, 0, signed=s).mean for n, c in made.items()} for s in (True, False)
    )
    attackers = {
        (similarity, items): {
            n: 100 * float(knn_attack(c, similarity, items=items).accuracy.mean()) for n, c in made.items()
        }
        for similarity in ("agreement", "cosine")
        for items in ("random", "rare")
    }
    claims = []
    for name, (paper, right) in TABLE_10.items():
        claims.append(
            Claim(
                "table 10", f"precision if all play {name}, %", paper, clicked[name],
                "compatible" if abs(clicked[name] - paper) < 0.5 else "not reproduced",
                why=f"SVD by reconstruction of who clicked what; with signs {signed[name]:.2f}; "
                f"{len(made[name]):,} clicks.",
            )
        )  # fmt: skip
        rows = [runs[name] for runs in attackers.values()]
        claims.append(
            Claim(
                "table 10", f"accuracy of the KNN attack if all play {name}, %", right, float(np.mean(rows)),
                "compatible" if min(rows) <= right <= max(rows) else "not reproduced", min(rows), max(rows),
                "Mean and span of four attackers: by agreement and cosine, with 3 random and the 3 rarest items. The "
                "paper does not say which.",
            )
        )  # fmt: skip
    below = sum(runs["careful"] < runs["basic"] for runs in attackers.values())
    less = sum(runs["smart"] < runs["careful"] for runs in attackers.values())
    changed = int(np.count_nonzero(replay(of, STRATEGIES["smart"]).actions == CHANGE))
    claims.append(
        Claim(
            "table 10", "careful people are attacked less accurately than basic ones", "less",
            f"in {below} of {len(attackers)}", "reproduced" if below == len(attackers) else "not reproduced",
            why="; ".join(f"{s}, {i}: {r['basic']:.1f}, {r['careful']:.1f}" for (s, i), r in attackers.items()),
        )
    )  # fmt: skip
    claims.append(
        Claim(
            "table 10", "smart people are attacked less accurately than careful ones, and get better precision",
            "both", f"in {less} of {len(attackers)}; {clicked['smart'] - clicked['careful']:+.2f}",
            "compatible" if less == len(attackers) and clicked["smart"] > clicked["careful"] else "not reproduced",
            why=f"Attackers; points of precision. On these data the two strategies differ in {changed} of {len(of):,} "
            "clicks, so either order is chance.",
        )
    )  # fmt: skip
    return claims
