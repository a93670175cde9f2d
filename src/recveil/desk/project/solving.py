"""What can be solved for: the bound that must be kept, and the mechanisms whose strength it decides."""

from __future__ import annotations

from typing import Any

from recveil.desk.project.choices import ChoiceError, Choices
from recveil.mechanisms import known_mechanisms


def bound(choices: Choices) -> str:
    """What must still work, as recveil tune takes it."""
    what = {"recommend": "lift", "tags": "lift", "algorithms": "agreement"}.get(choices.use.what)
    if what is None:
        raise ChoiceError(
            "use.what", "how well ratings are predicted cannot be solved for; look at the candidates' figures"
        )
    return f"{what}>={choices.use.keep:g}"


def solvable(choices: Choices, overview: dict[str, Any]) -> list[str]:
    """Specs of the mechanisms whose strength can be solved for on these data, without that strength."""
    found = []
    agreement = bound(choices).startswith("agreement")
    for advice in overview["fitting"]:
        mechanism = known_mechanisms()[advice["mechanism"]]
        if not advice["fits"] or (mechanism.name != "shuffle-nnn" if agreement else mechanism.strength is None):
            continue
        name, _, parameters = str(advice["spec"]).partition(":")
        tuned = "" if mechanism.strength is None else mechanism.strength[0]
        kept = [part for part in parameters.split(",") if part and part.partition("=")[0] != tuned]
        found.append(name + (":" + ",".join(kept) if kept else ""))
    return found
