"""audit, tune and recommend: a promise put to the test, parameters found, lists learned from what is let out."""

from __future__ import annotations

from typing import Any

from recveil.desk.audit import Audited
from recveil.desk.audit.one_run import AuditedOnce
from recveil.desk.audit.request import AuditRequest, run_audit
from recveil.desk.inputs import Input
from recveil.desk.recommend import Recommended, RecommendRequest, run_recommend
from recveil.desk.tune import TuneRequest, run_tune
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism
from recveil.mechanisms.spec import as_mechanism
from recveil.tuning import Tuned


def audit(
    mechanism: str | Mechanism,
    data: Any = None,
    *,
    runs: int = 1000,
    one_run: bool = False,
    confidence: float = 0.95,
    seed: int | None = None,
    **more: Any,
) -> Audited | AuditedOnce:
    """A mechanism's epsilon put to the test: a lower bound from many releases with and without a canary.

    mechanism: a spec or an object.
    data: what to put the canary into, anything that `read` takes; otherwise a toy.
    runs: releases of each of the two neighbouring data sets.
    one_run: one release with many canaries instead; `canaries` says how many.
    confidence: of the bound; `seed` makes the audit repeatable.
    more: canaries; catalogue, as for `release`, to which the canaries' ids are added.

    >>> recveil.audit("pseudonymise", runs=30, seed=1).verdict
    'no claim'
    """
    rows = None if data is None else Input(data)
    wishes: dict[str, Any] = {"runs": runs, "one_run": one_run, "confidence": confidence, "seed": seed, **more}
    return run_audit(AuditRequest(as_mechanism(mechanism), rows, **wishes))


def tune(data: Any, mechanism: str, *, keep: str | None = None, seed: int | None = None, **more: Any) -> Tuned:
    """The parameters of a mechanism that keep a bound. Measured on the true data, the answer is for the owner alone.

    data: anything that `read` takes.
    mechanism: the spec of one that can be tuned, such as mask or shuffle-nnn.
    keep: a bound, such as "lift>=0.7", "skill>=0.8", "agreement>=0.8" or "linkage@8<=0.1"; mask by itself takes none.
    seed: makes the search repeatable.
    more: people and items, the size of a generated twin to measure on; on_data=True, to measure on the data although
        the mechanism makes a promise; catalogue, as for `release`.

    `.spec` is what to release with, `.lines` say why, `.found` has all that was tried.

    >>> recveil.tune("sample:films?users=60,items=60", "mask", seed=1).spec.startswith("mask:p=")
    True
    """
    if not isinstance(mechanism, str):
        raise RecveilError("tune takes the name of a mechanism, such as 'mask', whose parameters it finds")
    return run_tune(TuneRequest(Input(data), mechanism, keep, seed=seed, **more))


def recommend(
    data: Any, mechanism: str | Mechanism, *, top: int = 30, score: str = "max", seed: int | None = None, **more: Any
) -> Recommended:
    """Lists for every user, learned from what a mechanism lets out.

    data: anything that `read` takes.
    mechanism: mask or dp-streams, as a spec or an object.
    top: items in a list; `score`: max, the closest item counts, or sum, all of them.
    seed: makes it an experiment that can be repeated.
    more: history, minsup, similar, catalogue, statistics, ledger; see docs/reference/commands.md.

    `.lists` has them by user, `.frame()` as a table.

    >>> made = recveil.recommend("sample:films?users=60,items=60", recveil.Mask(0.9), top=3, seed=1)
    >>> made.frame().columns
    ['user', 'place', 'item']
    """
    return run_recommend(RecommendRequest(Input(data), mechanism, top, score, seed=seed, **more))
