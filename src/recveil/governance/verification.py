"""verify_bundle(): do the files belong together, who says what about them, and does all of it still hold?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recveil.governance import owner
from recveil.governance.decision_card import check_card
from recveil.governance.standing import NOBODY, Decided, standing
from recveil.guarantee import CHOSEN_ON_DATA
from recveil.releases import claims
from recveil.releases.bundle import DERIVED, BrokenBundleError, check_stated, data_files, load, placed, verified_digests
from recveil.releases.claims import CLAIMS, Checked, Known
from recveil.releases.croissant import CROISSANT
from recveil.releases.places import Folder, Place


@dataclass(frozen=True)
class Verification:
    """What was found: `problems` do not hold, `remarks` are worth knowing."""

    manifest: dict[str, Any] | None
    claims: Checked
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    standing: Decided = NOBODY

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {"verified": not self.problems, "claims": self.claims.record()}
        found["decision"] = self.standing.record()
        if self.problems:
            found |= {"why": "; ".join(self.problems), "problems": list(self.problems)}
        return found | {"remarks": list(self.remarks)} | ({"manifest": self.manifest} if self.manifest else {})

    def lines(self) -> list[str]:
        if self.manifest is None:
            return [f"not verified: {problem}" for problem in self.problems]
        manifest, promise = self.manifest, self.manifest["guarantee"]
        said = f"{manifest['rows']:,} rows by {manifest['spec']}, made with recveil {manifest['recveil']}"
        lines = [f"{'the files hold' if self.problems else 'verified'}: {said}"]
        lines.append(f"guarantee ({promise['status']}): {promise['sentence']}")
        if promise["status"] == "proved" and "chosen_on_data" in manifest:
            lines.append(CHOSEN_ON_DATA.get(manifest["chosen_on_data"], ""))
        if manifest["seeded"]:
            lines.append("made with a seed: an experiment, not for publication")
        lines += [*self.claims.lines(), f"decision: {self.standing.sentence()}"]
        return lines + [f"remark: {r}" for r in self.remarks] + [f"not verified: {p}" for p in self.problems]


def verify_bundle(
    bundle: str | Path | Place,
    trust: Mapping[str, Known] | None = None,
    folder: Folder | None = None,
    *,
    approved: bool = False,
    recipient: str | None = None,
) -> Verification:
    """Hashes, counts and claims of a bundle; and of the owner's folder, where there is one beside it.

    Without `trust` no key is known, and only integrity is checked: that what was signed is what stands there. What was
    refused, withdrawn, superseded or has expired does not hold; with `approved` nothing does but an approval that
    stands, by a known officer, for this `recipient` where one is named.
    """
    place = placed(bundle)
    try:
        manifest, digests = verified_digests(place)
        found = claims.check(claims.text_of(place / CLAIMS), digests, trust)
        if not (found.claims and not found.problems):  # else the owner signed what the manifest states
            _count(place, manifest)
    except BrokenBundleError as broken:
        return Verification(None, Checked(), (str(broken),), ())
    problems = list(found.problems)
    if trust is not None:
        problems += claims.required(found, trust)
    stray, outdated = check_card(place, manifest, found)
    problems += stray
    aside = folder or owner.owner_folder(place)
    if aside.exists():
        problems += owner.check(aside, digests, trust, found)
    now = standing(found, getattr(trust, "approvers", 1))
    problems += now.not_approved(recipient) if approved or recipient else now.problems()
    if approved and trust is None:
        problems.append("no key is known, so nobody's approval counts: name those that you trust with --trust FILE")
    remarks = (*found.remarks, *outdated, *_remarks(place.names(), found))
    return Verification(manifest, found, tuple(problems), remarks, now)


def signed_window(trust: Mapping[str, Known] | None) -> Callable[[Path], Any]:
    """How `verify_series` looks at each bundle where it asks who signed it, and how that stands."""

    def examine(bundle: Path) -> Any:
        found = verify_bundle(bundle, trust)
        return found.manifest, found.problems, found.remarks

    return examine


def _remarks(names: list[str], found: Checked) -> list[str]:
    remarks = []
    if CROISSANT not in names:
        remarks.append(f"an older bundle: it has no {CROISSANT}, and its card no head for other tools")
    if not found.claims:
        remarks.append("nobody signed it: hashes prove that the files belong together, not who made them")
    elif not found.known:
        remarks.append("the keys are not known: name those that you trust with --trust FILE")
    return remarks + [f"{name} is not covered by the manifest" for name in DERIVED if name in names]


def _count(place: Place, manifest: dict[str, Any]) -> None:
    """Rows, users and items against the manifest: on the executors where the files lie in a lake.

    Of parquet files on this machine nothing is made: the columns are counted as they stand.
    """
    if not isinstance(place, Folder):
        from recveil.spark.reading import check_counts

        check_counts(place, manifest)
        return
    files = [place.path / name for name in data_files(manifest)]
    if any(file.suffix != ".parquet" for file in files):
        load(place.path)
        return
    try:
        rows = pl.scan_parquet(files, glob=False)
        counts = rows.select(pl.len(), pl.col(manifest["unit"]).n_unique().alias("users"), pl.col("item").n_unique())
        check_stated(place, manifest, *counts.collect().row(0))
    except (OSError, pl.exceptions.PolarsError):
        raise BrokenBundleError(f"{place}: the data cannot be read as parquet") from None
