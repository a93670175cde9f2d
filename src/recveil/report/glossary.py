"""Words that a reader may not know: where the page first uses one, it leads to its meaning at the end."""

from __future__ import annotations

import re

GLOSSARY = {
    "AUC": "How well an attack tells those in the data from those who are not: 0.5 is a coin toss, 1 is certainty.",
    "Lift": (
        "What a recommender trained on a release keeps of what the real data teach beyond naming the most popular: "
        "100% is as good as the real data, 0% no better than popularity."
    ),
    "NDCG": "How far up a list of recommendations puts what a person really chose: 1 is perfect, 0 is nothing right.",
    "RMSE": "How far predicted ratings are off, in steps of the scale; larger errors weigh more.",
    "Skill": (
        "How much better ratings are predicted from a release than by the items' real averages (0%), measured by what "
        "the best predictor on the real data gains (100%)."
    ),
    "tau": "Kendall's tau: whether two orders of algorithms agree. 1 is the same order, 0 no relation, -1 the reverse.",
    "epsilon": (
        "How much one person can change what is published: an attacker's odds of being right about her grow by at most "
        "e to this power."
    ),
    "delta": "The chance that the bound of epsilon fails; it must be far below one over the number of people.",
    "theta": "A threshold on how alike two records are (cosine): 1 means the same items.",
}  # fmt: skip
# Text between two tags; pictures, headings, the style and links stay as they are.
_KEPT = re.compile(r"(<(svg|h1|h2|nav|style|title|a|summary|dl)\b.*?</\2>)", re.DOTALL)


def link_first_uses(page: str) -> str:
    """The page with the first use of each word of the glossary as a link to its meaning."""
    pieces = _KEPT.split(page)
    for word in GLOSSARY:
        use = re.compile(rf"(>[^<]*?)\b({word})\b(?=[^<>]*<)", re.IGNORECASE if word in ("Lift", "Skill") else 0)
        for n in range(0, len(pieces), 3):  # text, kept, its tag, text, ...
            linked, found = use.subn(rf'\1<a class="term" href="#word-{word.lower()}">\2</a>', pieces[n], count=1)
            if found:
                pieces[n] = linked
                break
    return "".join(piece for n, piece in enumerate(pieces) if n % 3 != 2)
