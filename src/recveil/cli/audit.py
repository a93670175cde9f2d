"""recveil audit SPEC: an empirical lower bound on epsilon against the claim."""

from typing import TYPE_CHECKING, Annotated

from recveil.cli.arguments import Json, answer, terminal
from recveil.options import Request

if TYPE_CHECKING:
    from recveil.evaluation.audit.request import AuditRequest


def audit(
    request: Annotated["AuditRequest", Request("recveil.evaluation.audit.request")], as_json: Json = False
) -> None:
    """Release data with and without a canary many times, and bound epsilon from below by what gives it away.

    Beside it the noise itself is checked against what is stated. Exit code 3 where a proved claim is broken.

    Example: recveil audit dp-streams:epsilon=1,delta=1e-6 --runs 500
    """
    from recveil.evaluation.audit.request import run_audit

    with terminal() as progress:
        record = run_audit(request, progress).record()
    how = f"after {request.runs} releases of each of two data sets ({record['canary']})"
    if request.one_run:
        how = f"after one release with {record['canaries']:,} canaries ({record['canary']})"
    claim = "no epsilon" if record["claimed"] is None else f"epsilon {record['claimed']:g} ({record['status']})"
    lines = [
        f"{record['mechanism']} claims {claim}; epsilon is at least {record['lower']:.3f} with "
        f"{request.confidence:.1%} confidence, {how}; total disclosure would have given {record['attainable']:.3f}",
        f"what says so: {record['event']}",
    ]
    if record["estimate"] is not None:
        lines.append(f"if the noise is Gaussian: at least {record['estimate']:.3f} (a model, no proof)")
    if record["noise"]:
        seen = ", ".join(f"{name} {share:.3f}" for name, share in record["noise"].items() if "cells with" not in name)
        lines.append(f"noise seen, as a share of the noise stated: {seen}")
    if record["short_of_noise"]:
        lines.append(f"less noise than stated: {', '.join(record['short_of_noise'])}")
    if record["shared_noise"]:
        lines.append(f"the same noise, where the proof takes it to be independent: {', '.join(record['shared_noise'])}")
    if record["excess"] > 0:
        lines.append(f"a canary moves the tables {record['excess']:.1%} farther than the guarantee reckons with")
    if chosen := record.get("selection"):
        what = f"selection of {' and '.join(chosen['columns'])} where no list is given"
        shares = ", ".join(f"{share:.3f}" for name, share in chosen["noise"].items() if "cells with" not in name)
        lines.append(
            f"{what}: {chosen['verdict']}; epsilon is at least {chosen['lower']:.3f}; noise seen {shares or 'none'}; "
            f"an id that a canary alone has is kept with {chosen['passing']:.3f} of its part of delta"
        )
        if chosen["seen_passing"] > 1:
            lines.append(
                f"at a delta that can be seen, such an id is kept {chosen['seen_passing']:.1f} times too often"
            )
    answer(record, [*lines, f"verdict: {record['verdict']}"], as_json)
    if record["verdict"] == "broken":
        raise SystemExit(3)
