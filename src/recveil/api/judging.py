"""audit, tune and recommend: a promise put to the test, parameters found, lists learned from what is let out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recveil.actions.recommend import Recommended, RecommendRequest, run_recommend
from recveil.api.keywords import keywords_of
from recveil.api.owners_screen import SCREEN
from recveil.errors import RecveilError
from recveil.evaluation.audit import Audited
from recveil.evaluation.audit.one_run import AuditedOnce
from recveil.evaluation.audit.request import AuditRequest, run_audit
from recveil.evaluation.choose import ChooseRequest, NoisyChoice, run_choose
from recveil.evaluation.tune import TuneRequest, run_tune
from recveil.evaluation.tuning import Tuned
from recveil.mechanism import Mechanism
from recveil.options import made
from recveil.releases.inputs import Input


@keywords_of(AuditRequest)
def audit(mechanism: str | Mechanism, data: Any = None, **wishes: Any) -> Audited | AuditedOnce:
    """A mechanism's epsilon put to the test: a lower bound from many releases with and without a canary.

    mechanism: a spec or an object.
    data: what to put the canary into, anything that `read` takes; otherwise a toy.
    runs: releases of each of the two neighbouring data sets.
    one_run: one release with many canaries instead; `canaries` says how many.
    confidence: of the bound; `seed` makes the audit repeatable.
    columns: as for `read`; so is `schema`.
    items: as for `release`; the canaries' ids are added to it.

    >>> recveil.audit("pseudonymise", runs=30, seed=1).verdict
    'no claim'
    """
    return run_audit(AuditRequest(mechanism, data, **wishes), SCREEN)


@keywords_of(TuneRequest, without=("source", "spec"))
def tune(data: Any, mechanism: str, **wishes: Any) -> Tuned:
    """The parameters of a mechanism that keep a bound. Measured on the true data, the answer is for the owner alone.

    data: anything that `read` takes.
    mechanism: the spec of one that can be tuned, such as mask or shuffle-nnn.
    keep: a bound, such as "lift>=0.7", "skill>=0.8", "agreement>=0.8" or "linkage@8<=0.1"; mask by itself takes none.
    seed: makes the search repeatable.
    people: with `twin_items` the size of a generated twin to measure on; `count`: count the people for it with noise of
        this epsilon; `on_data`: measure on the data although the mechanism makes a promise.
    items: as for `release`; `columns`, `schema`, `types` and `duplicates`: as for
        `read`.
    ledger: a file in which what that spends, or a look at the data, is entered.

    `.spec` is what to release with, `.lines` say why, `.found` has all that was tried.

    >>> recveil.tune("sample:films?users=60,items=60", "mask", seed=1).spec.startswith("mask:p=")
    True
    """
    if not isinstance(mechanism, str):
        raise RecveilError("tune takes the name of a mechanism, such as 'mask', whose parameters it finds")
    if isinstance(wishes.get("items"), int):  # what items meant before there were files of them
        wishes["twin_items"] = wishes.pop("items")
    return run_tune(made(TuneRequest, {"source": data, "spec": mechanism, **wishes}), SCREEN)


@keywords_of(ChooseRequest, without=("candidates",))
def choose(
    data: Any,
    mechanisms: Sequence[str | Mechanism],
    *,
    epsilon: float,
    ledger: str,
    stand_in: Any = None,
    **wishes: Any,
) -> NoisyChoice:
    """Which mechanism to release with, by use on the data, within a budget of its own: a noisy choice.

    data: whose people judge, anything that `read` takes.
    mechanisms: two or more, as specs or objects.
    epsilon: what the choice spends; entered in `ledger`, a file, before any noise is drawn.
    stand_in: public rows over the same items, to which the mechanisms are fitted. Without them they are fitted to the
        data, but for people set aside, who judge; then each needs a proof, and is entered too.
    seed: makes it an experiment that can be repeated.
    share: of people set aside.
    items: as for `release`.

    `.spec` is what was chosen, `.lines` say how. No score is shown to anybody.

    >>> import tempfile
    >>> films = "sample:films?users=120,items=60"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = recveil.choose(recveil.read(films), ["pseudonymise", "mask:p=0.9"], epsilon=1, seed=1,
    ...                            stand_in=recveil.read(films), ledger=f"{folder}/ledger.jsonl")
    >>> found.spec in ("pseudonymise", "mask:p=0.9")
    True
    """
    public = None if stand_in is None else Input(stand_in)
    return run_choose(ChooseRequest(Input(data), tuple(mechanisms), epsilon, ledger, public, **wishes))


@keywords_of(RecommendRequest, without=("source", "engine", "out"))
def recommend(data: Any, mechanism: str | Mechanism, **wishes: Any) -> Recommended:
    """Lists for every user, learned from what a mechanism lets out.

    data: anything that `read` takes.
    mechanism: mask or dp-streams, as a spec or an object.
    top: items in a list; `score`: max, the closest item counts, or sum, all of them.
    seed: makes it an experiment that can be repeated.
    items: as for `release`, and so is `catalogue_is_public`; `columns`, `schema`, `types` and `duplicates`: as for
        `read`.
    statistics: tables kept by a release, from which to learn at no further cost.
    ledger: where what is spent is entered; `outside_budget`: let in what promises nothing that its budget counts.
    history: as for the command (docs/reference/commands.md), like `minsup` and `similar`.

    `.lists` has them by user, `.frame()` as a table.

    >>> made = recveil.recommend("sample:films?users=60,items=60", recveil.Mask(0.9), top=3, seed=1)
    >>> made.frame().columns
    ['user', 'place', 'item']
    """
    return run_recommend(made(RecommendRequest, {"source": data, "mechanism": mechanism, **wishes}), SCREEN)
