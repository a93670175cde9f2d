"""What can be solved for: the bound that must be kept, and the mechanisms whose strength it decides."""

from __future__ import annotations

from typing import Any

from recveil.desk.project.choices import ChoiceError, Choices
from recveil.mechanisms import known_mechanisms

BOUNDS = {"recommend": "lift", "tags": "lift", "ratings": "skill", "algorithms": "agreement"}


def bound(choices: Choices) -> str:
    """What must still work, as recveil tune takes it."""
    if not choices.use.what:
        raise ChoiceError("use.what", "choose what must still work")
    return f"{BOUNDS[choices.use.what]}>={choices.use.keep:g}"


def solvable(choices: Choices, overview: dict[str, Any]) -> list[str]:
    """Specs of the mechanisms whose strength can be solved for on these data, without that strength."""
    found = []
    asked = BOUNDS[choices.use.what]  # lift is for every mechanism with a strength
    for advice in overview["fitting"]:
        mechanism = known_mechanisms()[advice["mechanism"]]
        if not advice["fits"] or (mechanism.strength is None if asked == "lift" else asked not in mechanism.keeps):
            continue
        name, _, parameters = str(advice["spec"]).partition(":")
        tuned = "" if mechanism.strength is None else mechanism.strength[0]
        kept = [part for part in parameters.split(",") if part and part.partition("=")[0] != tuned]
        found.append(name + (":" + ",".join(kept) if kept else ""))
    return found
