"""decide, withdraw and standing: the sheet of a bundle, the signature under it, and what holds of it now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from recveil.api.keywords import keywords_of
from recveil.errors import RecveilError
from recveil.governance.context import Context, read_context
from recveil.governance.decision import Decider
from recveil.governance.decision import decide as decide_on
from recveil.governance.decision import withdraw as withdraw_claim
from recveil.governance.recipients import read_recipient
from recveil.governance.trust import read_trust
from recveil.governance.verification import verify_bundle
from recveil.releases.claims import APPROVED, REFUSED
from recveil.releases.keys import load_key


@keywords_of(Context, without=("declared",))
def decide(
    bundle: str | Path,
    recipient: str = "public",
    *,
    approve: bool | None = None,
    by: tuple[str, str] = ("", ""),
    key: str | Path | None = None,
    reason: str = "",
    conditions: Sequence[str] = (),
    until: date | None = None,
    sheet: str = "",
    opinion: str = "",
    context: Any = None,
    trust: str | Path | None = None,
    passphrase: str | None = None,
    **wishes: Any,
) -> dict[str, Any]:
    """The decision sheet of a bundle; with approve=True or False, the officer's signature under the sheet she read.

    bundle: a folder.
    recipient: public, contractor, team, or a file of your own.
    approve: None writes the sheet alone, to be read; the same call with True or False signs it.
    by: name and role; `key`: the file of her private key.
    reason: published; needed to approve what the evidence does not speak for.
    conditions: published word for word.
    until: a date; `review`: the day on which to look again.
    sheet: the digest of the one that was read; `opinion`: for the sheet, as `purpose`, `contract` and `ledger` are.
    wish: how much of which use must be kept; `limits`: of the recipient, changed for this release, each with a reason.
    context: a file with what else officers expect; `trust`: a trust file; `passphrase`: of the key.

    The result has the sheet and its digest.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = recveil.release("sample:films?users=50", "pseudonymise").save(f"{folder}/out")
    ...     recveil.decide(f"{folder}/out", "team")["sheet"]["verdict"]["outcome"]
    'open'
    """
    said = read_context(context) if context else {}
    terms = Context(read_recipient(recipient), until=until, conditions=tuple(conditions), **said, **wishes)
    if approve is None:
        return decide_on(str(bundle), terms)
    if not all(by) or key is None:
        raise RecveilError("a decision has a name, a role and a key: by=('Jane Roe', 'officer'), key='dpo.key'")
    kind = APPROVED if approve else REFUSED
    known = None if trust is None else read_trust(str(trust))
    signer = load_key(key, lambda: passphrase)
    return decide_on(str(bundle), terms, Decider(*by, kind, signer, reason, sheet, opinion, known))


def withdraw(
    bundle: str | Path,
    *,
    by: tuple[str, str],
    key: str | Path,
    reason: str,
    superseded_by: str | Path | None = None,
    passphrase: str | None = None,
) -> dict[str, Any]:
    """Sign that a release no longer stands, or that another bundle takes its place.

    bundle: a folder.
    by: name and role; `key`: the file of an officer's or the owner's private key.
    reason: published.
    superseded_by: the bundle that takes its place; `passphrase`: of the key.

    >>> recveil.withdraw("out", by=("Jane Roe", "officer"), key="none.key", reason="A linkage was found")
    Traceback (most recent call last):
    recveil.errors.RecveilError: none.key cannot be read: No such file or directory
    """
    signer = load_key(key, lambda: passphrase)
    return withdraw_claim(str(bundle), *by, reason, signer, None if superseded_by is None else str(superseded_by))


def standing(bundle: str | Path, trust: str | Path | None = None, recipient: str | None = None) -> dict[str, Any]:
    """How a bundle stands: undecided, approved (for whom, until when, by whom), refused, withdrawn and so on.

    bundle: a folder.
    trust: a trust file; without one no key is known, and anybody could have signed.
    recipient: then `problems` also says where it is not approved for this one.

    The result has `verified`, `decision`, `claims` and, where something does not hold, `problems`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = recveil.release("sample:films?users=50", "pseudonymise").save(f"{folder}/out")
    ...     recveil.standing(f"{folder}/out")["decision"]["outcome"]
    'undecided'
    """
    known = None if trust is None else read_trust(str(trust))
    return verify_bundle(str(bundle), known, recipient=recipient).record()
