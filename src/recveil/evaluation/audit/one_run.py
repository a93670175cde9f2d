"""audit_in_one_run(): a bound on epsilon from one release with many canaries, each in or out by a coin."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.attacks.one_run import OneRun, gaussian_estimate, judge
from recveil.evaluation.audit.canaries import crowd
from recveil.evaluation.audit.verdict import Verdict, claim_and_bound, verdict
from recveil.evaluation.audit.watching import Watch, all_public, fitted, watched
from recveil.guarantee import Guarantee
from recveil.mechanism import Mechanism, Synthesis
from recveil.mechanisms import spec
from recveil.randomness import source
from recveil.releases.catalogue import Catalogue
from recveil.releases.release import Published, Release, publish, release


@dataclass(frozen=True)
class AuditedOnce:
    """What was claimed, and what one run says."""

    mechanism: str
    guarantee: Guarantee
    canary: str
    found: OneRun
    estimate: float | None
    watch: Watch

    @property
    def verdict(self) -> Verdict:
        refuted = bool(self.watch.short or self.watch.together.found)
        return verdict(self.guarantee, self.found, self.estimate, refuted)

    def record(self) -> dict[str, Any]:
        return claim_and_bound(self.mechanism, self.guarantee, self.found, self.estimate) | {
            "runs": 1,
            "canaries": self.found.canaries,
            "canary": self.canary,
            "event": f"{self.found.right} of {self.found.guesses} guesses were right",
            "noise": {name: tally.share for name, tally in self.watch.tallies.items()},
            "short_of_noise": self.watch.short,
            "shared_noise": self.watch.together.found,
            "excess": 0.0,
            "verdict": self.verdict,
        }


def audit_in_one_run(
    mechanism: Mechanism,
    data: Interactions | None = None,
    *,
    canaries: int = 1000,
    confidence: float = 0.95,
    seed: int | None = None,
    catalogue: Catalogue | None = None,
) -> AuditedOnce:
    """A lower confidence bound on epsilon (Steinke, Nasr and Jagielski 2023), and the noise seen beside that stated."""
    if not 0 < confidence < 1:
        raise RecveilError(f"the confidence must lie between 0 and 1, not {confidence}")
    mechanism, data = fitted(mechanism, crowd(mechanism) if data is None else data)
    data = (catalogue or Catalogue()).over(data).compact()
    rng = np.random.default_rng(seed)
    inside = rng.random(canaries) < 0.5
    probe = mechanism.probe(data, inside, rng)
    if probe is None:
        raise RecveilError(f"there are no canaries for one run of {mechanism.name}: leave --one-run out")
    lists = Catalogue(probe.items, probe.tags, probe.users, catalogue.features if catalogue else None)
    knows = isinstance(mechanism, Synthesis) and mechanism.knows_users
    coded = lists.over(probe.data.compact(), knows).canonical()
    public = all_public(coded, mechanism, lists.features)
    seen_through, watch = watched(mechanism, public, (coded, coded))
    number = secrets.randbits(48) if seed is None else seed
    made: Published | Release
    if isinstance(seen_through, Synthesis):
        made = publish(coded, seen_through, public, source(number))
    else:
        made = release(probe.data, seen_through, seed=number, catalogue=lists)
    scores = probe.scores(made, coded)
    promise = mechanism.guarantee(public)
    found = judge(scores, inside, delta=promise.delta, confidence=confidence)
    estimate = None
    if watch.gaussian and promise.delta:
        estimate = gaussian_estimate(scores[inside], scores[~inside], promise.delta, confidence)
    return AuditedOnce(spec.text(mechanism), promise, probe.canary, found, estimate, watch)
