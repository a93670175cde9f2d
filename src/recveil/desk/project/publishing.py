"""Making, attacking, signing and publishing the bundle of a project. What goes out is there whole, or not at all.

bundles/NAME          the bundle, made once; entered into the ledger before any noise was drawn
bundles/NAME.owner    what was measured on it and the decision sheet
private/NAME-...      the id map and the people held out
published/NAME        what goes out: the bundle with its claims, and the exports; only after an approval
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recveil.actions.measure import MeasureRequest, run_measure
from recveil.actions.publish import ReleaseRequest, run_release
from recveil.desk.project.bundles import bundle_place, decided, ledger_file, published_place, signer
from recveil.desk.project.choices import ChoiceError, Choices
from recveil.desk.project.court import set_people_aside
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import Job, JobStore
from recveil.desk.project.plan import attack_levels, keeps_ids
from recveil.evaluation.resources import AttackerResources
from recveil.governance import owner
from recveil.governance.export import export
from recveil.mechanisms.spec import parse
from recveil.releases.bundle import MANIFEST, verified_digests
from recveil.releases.claims import OWNER
from recveil.releases.inputs import SAMPLE, Input
from recveil.releases.licences import licence
from recveil.releases.places import Folder, whole
from recveil.releases.progress import Progress

LOOKS = ("candidate", "red-team", "solve")


def make_bundle(project: Project, job: Job, progress: Progress) -> Any:
    """The release of the chosen mechanism. A bundle that stands there whole already is not made, or spent, again."""
    choices, name = job.made_choices(), job.id
    place = bundle_place(project, name)
    if not place.exists():
        set_people_aside(project, choices)
        run_release(_release_request(project, choices, name), progress)
    manifest, digests = verified_digests(place)
    return {"name": name, "manifest": manifest, "sha256": digests[MANIFEST]}


def _release_request(project: Project, choices: Choices, name: str) -> ReleaseRequest:
    wishes, spec = choices.release, choices.candidates.chosen
    if spec.startswith("file:"):
        raise ChoiceError(
            "candidates.chosen", "a file of another tool is compared, not released: recveil cannot say how it was made"
        )
    private = project.room("private")
    return ReleaseRequest(
        project.input(choices.data),
        parse(spec),
        str(bundle_place(project, name)),
        format=wishes.format,
        time=wishes.time,
        holdout=wishes.holdout,
        holdout_file=str(private / f"{name}-held.parquet") if wishes.holdout else None,
        catalogue=str(project.path(wishes.catalogue)) if wishes.catalogue else project.items(choices),
        publish_titles=wishes.publish_titles,
        catalogue_is_public=wishes.catalogue_is_public,
        keep_map=str(private / f"{name}-map.csv") if keeps_ids(spec) else None,
        ledger=ledger_file(project, choices),
        outside_budget=wishes.outside_budget,
        chosen_on_data=looked(project),
        licence=licence(wishes.licence) if wishes.licence else None,
        key=signer(project, OWNER, choices.owner.key),
        seed=None if wishes.seed < 0 else wishes.seed,
    )


def looked(project: Project) -> bool:
    """Whether figures were computed on private data here, by which somebody may have chosen; whatever a ledger says."""
    made = [(one.kind, one.made_choices()) for one in JobStore(project).jobs() if one.kind in LOOKS]
    return any(
        not choices.data.source.startswith(SAMPLE)
        for kind, choices in made
        if kind != "solve" or choices.use.on == "data"
    )


def red_team(project: Project, job: Job, progress: Progress) -> Any:
    """What the attacks find in the bundle (job.about is its name); kept, signed, in the owner's folder beside it."""
    choices, name = job.made_choices(), job.about
    place, private, how = bundle_place(project, name), project.room("private"), choices.red_team
    held, id_map = private / f"{name}-held.parquet", private / f"{name}-map.csv"
    request = MeasureRequest(
        project.input(choices.data),
        str(place),
        id_map=str(id_map) if id_map.exists() else None,
        holdout=Input(str(held)) if held.exists() else None,
        known=tuple(attack_levels(project, choices)),
        known_items=how.items,
        ratings={"both": None, "with": True, "without": False}[how.ratings],
        seed=None if choices.release.seed < 0 else choices.release.seed,
        resources=AttackerResources(
            how.shadows,
            items=project.items(choices),
            attributes=str(project.path(how.attributes)) if how.attributes else None,
            also=str(project.path(how.also)) if how.also else None,
        ),
        only=how.measures or None,
        strict=False,
        ledger=ledger_file(project, choices),
    )
    found = run_measure(request, progress)
    owner.keep_measurements(place, found, owner.owner_folder(place), signer(project, OWNER, choices.owner.key))
    kept = owner.measurements(owner.owner_folder(place), verified_digests(place)[1])
    return {"name": name, "knowledge": request.knowledge, **(kept or {})}


def publish_bundle(project: Project, job: Job, progress: Progress) -> Any:
    """Put what goes out into one new folder: the bundle as it was signed, and the exports."""
    choices, name = job.made_choices(), job.about
    if (kind := decided(project, name)) != "approved":
        raise ChoiceError("officer.decision", f"it was {kind}" if kind else "nobody has approved it: decide first")
    source, target = bundle_place(project, name), published_place(project, name)
    wanted, remarks = choices.publish.exports, []
    target.parent.mkdir(exist_ok=True)
    with whole(Folder(target)) as part:
        copy = part.path / "bundle"
        Folder(source).fetch(_made(copy))
        progress.step("publishing", 1, len(wanted) + 1)
        for number, to in enumerate(wanted):
            out = part.path / ("bundle.zip" if to == "zip" else to)
            remarks += export(copy, to, out)["remarks"]
            progress.step("publishing", number + 2, len(wanted) + 1)
    return {"name": name, "remarks": list(dict.fromkeys(remarks)), "exports": list(wanted)}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
