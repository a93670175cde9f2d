"""Which mechanisms fit this kind of data and need, and why: plain rules, each with its reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism, Synthesis
from recveil.mechanisms import MECHANISMS

FEW_PEOPLE = 1000


@dataclass(frozen=True)
class Advice:
    """A mechanism for these data: whether it fits, what it is good for, and what to mind."""

    mechanism: str
    fits: bool
    why: str

    def record(self) -> dict[str, Any]:
        return asdict(self)


# What each mechanism is for, in one sentence that holds for all data it fits; a new mechanism adds its line.
PURPOSE = {
    "pseudonymise": "A baseline only: new ids do not hide anyone whose items are partly known.",
    "random-ratings": "A baseline only: who rated what stays readable, and the values teach nothing.",
    "shuffle-nnn": (
        "For choosing between rating algorithms: values are shuffled outside the critical items, so that the ranking "
        "of algorithms tends to survive. Who rated what is not hidden."
    ),
    "mask": (
        "For outsiders who train on who has what: every bit of a profile is flipped with a stated probability. Single "
        "bits are protected, with a proof; whole profiles are not."
    ),
    "mbrw": (
        "For outsiders who need click sequences: walks that keep transitions and co-occurrence. Each begins with a "
        "copied piece of a real stream, so it carries no guarantee."
    ),
    "dp-streams": (
        "For publication: synthetic people drawn from noisy statistics, with a proof per person. The more people, the "
        "less the noise hurts."
    ),
    "pritop": "For comparison with its paper only: the published guarantee does not hold.",
    "tag-suppression": "A baseline for tags: leaves out a share of them and promises nothing.",
    "dp-tags": (
        "For publication of tags: denoised tables with a proof per tag assignment (or per person), and posts drawn "
        "from them; best mixed with each person's own tags on her device."
    ),
    "dp-post-tags": (
        "For tags on posts that are public anyway: real posts with randomised tags. Each can be denied, with a proof."
    ),
    "microaggregation": "For small groups of alike people: each value stands for at least k persons.",
    "laplace-ratings": "A baseline: noise on the values alone; who rated what stays readable.",
}
REQUIRED = {
    "dp-streams": ":epsilon=4,delta=1e-6",
    "dp-tags": ":epsilon=4,delta=1e-6",
    "dp-post-tags": ":epsilon=4",
}  # parameters without a default, for a first look
_KINDS = {  # what a mechanism is made for, where that is narrower than what it can run on
    "mbrw": ("clicks", "sessions", "ratings"),
    "dp-streams": ("clicks", "sessions", "ratings"),
}


def advise(data: Interactions) -> tuple[Advice, ...]:
    """Every mechanism of the catalogue, those that fit first."""
    found = [_one(name, mechanism, data) for name, mechanism in MECHANISMS.items()]
    return tuple(sorted(found, key=lambda a: not a.fits))


def _one(name: str, mechanism: type[Mechanism], data: Interactions) -> Advice:
    for column in mechanism.needs:
        if getattr(data, column) is None:
            return Advice(name, False, f"It needs a {column} column, and the data have none.")
    if data.kind not in _KINDS.get(name, (data.kind,)):
        return Advice(name, False, f"It is made for {' and '.join(_KINDS[name])}, and these are {data.kind}.")
    why = PURPOSE.get(name) or (mechanism.__doc__ or name).strip().splitlines()[0]
    if issubclass(mechanism, Synthesis) and data.n_users < FEW_PEOPLE:
        why += f" With {data.n_users:,} {data.unit}s the noise will be strong: look at the lift before you decide."
    return Advice(name, True, why)


def fitting(data: Interactions) -> list[str]:
    """Specs of every mechanism of the catalogue that fits these data, with the parameters that it must be told."""
    from recveil.mechanisms.spec import parse

    specs = []
    for name, mechanism in sorted(MECHANISMS.items(), key=lambda known: _place(known[0])):
        spec = name + REQUIRED.get(name, "")
        if _one(name, mechanism, data).fits:
            try:
                parse(spec).check_fit(data)
            except RecveilError:
                continue
            specs.append(spec)
    return specs


def _place(name: str) -> int:
    """In the order of PURPOSE: baselines first."""
    return list(PURPOSE).index(name) if name in PURPOSE else len(PURPOSE)
