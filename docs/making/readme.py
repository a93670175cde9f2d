"""The table of README: its numbers from kept JSON and from the catalogues. `python -m making.readme` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from making import open_benchmark, open_results
from making.kept import facts
from making.markdown import table

README = Path(__file__).parent.parent.parent / "README.md"
INTRODUCED = (
    "What judges learn from a release, for people whom it does not hold (means over splits, 95% intervals; what is "
    "private at epsilon 4, delta 1e-6, by person or session). All of it: `make docs`, the open benchmark."
)
PLACE = re.compile(r"(<!-- made by docs/making/readme.py -->\n).*?(\n<!-- end -->)", re.DOTALL)


def made() -> str:
    from recveil.evaluation.catalogue import ATTACKS
    from recveil.mechanisms import MECHANISMS
    from recveil.mechanisms.describe import describe

    proved = [d["name"] for d in map(describe, MECHANISMS.values()) if d["promise"]["status"] == "proved"]
    known = facts()
    rows = [
        [
            "a proof for what is promised",
            f"{len(proved)} of {len(MECHANISMS)} mechanisms ({', '.join(sorted(proved))}), each with its "
            "[theorem](docs/guarantees/index.md), exact noise, an audit that tries to break it, and a ledger",
        ],
        [
            "a promise that is attacked",
            f"{len(ATTACKS)} [attacks](docs/explanation/attacks.md); each number with an interval, a control "
            "(people who are not in the data) and chance",
        ],
        [
            "papers put to the test",
            f"of the {known['claims']} published claims run so far, of {known['papers']} papers (parts of "
            f"{known['papers_in_part']} are not run yet), {known['reproduced']} are reproduced, "
            f"{known['compatible']} compatible, {known['not_reproduced']} not reproduced, "
            f"{known['contradicted_by_the_paper']} contradicted by the paper itself; the rest cannot be had",
        ],
        [
            "an atlas of exposure",
            f"{known['data_sets']} public data sets: who knows 8 items of a person finds her record in "
            f"{known['found_by_8_least']} to {known['found_by_8_most']} of cases, if only the ids were replaced",
        ],
        [
            "a decision that can be checked",
            "bundles signed by their owner, approved or refused by an officer on a sheet of attacks, verified by all",
        ],
        [
            "advice before the click",
            "what a click gives a person and gives away, computed in her browser: an unconfirmed one never leaves it",
        ],
    ]
    found = [one for one in open_results.results() if one.begun]
    rows.insert(
        3,
        [
            "an open benchmark",
            f"{len(known_methods(found))} ways to release interactions, on {len(found)} public data sets so far, each "
            "under one protocol with the same judges and the same attack; "
            "[a method of yours](docs/howto/add_your_method.md) is one file",
        ],
    )
    first = table(["what nobody else has", "what it is"], rows)
    return f"{first}\n\n{INTRODUCED}\n\n{open_benchmark.headline(found)}"


def known_methods(found: list[open_results.Results]) -> set[str]:
    """Those that have a figure."""
    return {c["method"] for one in found for c in one.cells if c["status"] == "done"}


def written(text: str) -> str:
    """README with its table made anew."""
    return PLACE.sub(lambda found: found[1] + made() + found[2], text)


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
