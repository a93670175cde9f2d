"""The officer's side: one case, read-only but for her decision. Her key stays where she keeps it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recveil.desk.project.bundles import TRUST, bundle_place, put_aside
from recveil.desk.project.choices import ChoiceError, day_of
from recveil.desk.project.deciding import question
from recveil.desk.project.folder import FILE, Project
from recveil.desk.project.jobs import JobStore
from recveil.desk.project.plan import standing_bundle
from recveil.errors import RecveilError
from recveil.governance import dossier, owner
from recveil.governance.context import Context
from recveil.governance.decision import Decider, NoReasonError, decide, draft, withdraw
from recveil.governance.standing import Decided
from recveil.governance.trust import Trust, read_trust
from recveil.governance.verification import verify_bundle
from recveil.releases.claims import APPROVED, DECISIONS, OFFICER
from recveil.releases.keys import load_key
from recveil.releases.signing import Ask, Signer
from recveil.report.decision import page


@dataclass(frozen=True)
class OfficersCase:
    """A folder with a question: the owner's project, or a dossier; `key` names the officer's key."""

    folder: Path
    key: str
    trust_file: str = ""

    def now(self) -> tuple[Path, Context]:
        """The bundle, and what is to be decided on."""
        if dossier.is_dossier(self.folder):
            return dossier.opened(self.folder)
        project = Project(self.folder)
        choices, _ = project.read()
        return bundle_place(project, standing_bundle(JobStore(project), choices)), question(project, choices)

    def trust(self) -> Trust | None:
        file = Path(self.trust_file) if self.trust_file else self.folder / TRUST
        return read_trust(file) if self.trust_file or file.exists() else None

    def signer(self, ask: Ask) -> Signer:
        signs = load_key(self.key, ask)
        inside = signs.source is not None and signs.source.resolve().is_relative_to(self.folder.resolve())
        if inside and (self.folder / FILE).exists():
            raise ChoiceError("officer.key", "your key lies in the owner's folder: keep it where you alone are")
        return signs

    def state(self) -> dict[str, Any]:
        """How the case stands, and the sheet as it is now; nothing is written by looking."""
        bundle, context = self.now()
        trust = self.trust()
        found = verify_bundle(bundle, trust, owner.owner_folder(bundle))
        made = draft(bundle, context)["en"]
        return {
            "bundle": made["bundle"],
            "digest": made["digest"],
            "verdict": made["verdict"],
            "recipient": made["context"]["to"],
            "review": str(context.review or ""),
            "standing": found.standing.record(),
            "history": [Decided(c.kind, c).record() for c in found.claims.claims if c.kind in DECISIONS],
            "signed": [line for c, line in zip(found.claims.claims, found.claims.lines(), strict=True)
                       if c.kind in DECISIONS],
            "problems": list(found.problems),
            "who": self._who(trust),
            "dossier": dossier.is_dossier(self.folder),
            "key": self.key,
        }  # fmt: skip

    def _who(self, trust: Trust | None) -> dict[str, str]:
        """Her name by the trust file, where her key can be read without a passphrase."""
        try:
            print_ = self.signer(lambda: None).fingerprint
        except (RecveilError, ModuleNotFoundError):
            return {"name": "", "fingerprint": ""}
        known = trust.get(print_) if trust else None
        return {"name": known.name if known and known.role == OFFICER else "", "fingerprint": print_}

    def sheet_page(self, language: str) -> str:
        """As the evidence stands now, made here: files of the owner's say nothing; with the last decision on it."""
        bundle, context = self.now()
        spoken = draft(bundle, context)
        last = owner.last_decision(owner.owner_folder(bundle)) or {}
        same = last.get("digest") == spoken["en"]["digest"]
        return page(spoken[language] | {"decision": last.get("decision") if same else None}, language)

    def sign(self, said: dict[str, Any], ask: Ask) -> None:
        """Her decision on the sheet whose digest she names."""
        bundle, context = self.now()
        for field in ("name", "role", "decision", "sheet"):
            if not said.get(field):
                raise ChoiceError(
                    f"officer.{field}", f"a decision needs the {'sheet that was read' if field == 'sheet' else field}"
                )
        until = day_of("officer.until", said.get("until", ""))
        asked = replace(context, until=until, conditions=tuple(said.get("conditions", ())))
        decider = Decider(said["name"], said["role"], said["decision"], self.signer(ask), said.get("reason", ""),
                          said["sheet"], said.get("opinion", ""), self.trust(), said.get("signed"))  # fmt: skip
        try:
            decide(bundle, asked, decider)
        except NoReasonError as why:
            raise ChoiceError("officer.reason", str(why)) from None
        self._settle(bundle)

    def withdraw(self, said: dict[str, Any], ask: Ask) -> None:
        for field in ("name", "role", "reason"):
            if not said.get(field):
                raise ChoiceError(f"officer.{field}", f"a withdrawal needs a {field}, which is published")
        bundle, _ = self.now()
        withdraw(bundle, said["name"], said["role"], said["reason"], self.signer(ask))
        self._settle(bundle)

    def answer(self) -> Path:
        """Her answer as a file, where the case came as one."""
        bundle, _ = self.now()
        target = self.folder / "answer.zip"
        dossier.pack(bundle, target, data=False)
        return target

    def _settle(self, bundle: Path) -> None:
        """What she took back no longer lies where the owner sends it from."""
        if not dossier.is_dossier(self.folder) and verify_bundle(bundle).standing.outcome != APPROVED:
            put_aside(Project(self.folder), bundle.name)
