"""recveil demo: the main job on a sample."""

from __future__ import annotations

from typing import Annotated

import typer

from recveil.cli.arguments import Json, Seed, answer, say


def demo(
    out: Annotated[str, typer.Option("-o", "--out", metavar="DIR", help="Where the bundles go.")] = "demo",
    as_json: Json = False,
    seed: Seed = None,
) -> None:
    """The main job on a generated sample: protect it in several ways, verify, and show what came out.

    Example: recveil demo -o demo
    """
    from pathlib import Path

    from recveil.bundle import load, save
    from recveil.release import release
    from recveil.samples import sample
    from recveil.spec import parse

    data = sample("films")
    say(f"sample:films: {len(data):,} ratings of {data.n_items:,} films by {data.n_users:,} viewers")
    lines = [f"{'bundle':<24} {'rows':>8} {'viewers':>8}  guarantee"]
    bundles = []
    for spec in ("pseudonymise", "random-ratings"):
        directory = Path(out) / spec
        save(release(data, parse(spec), seed=seed), directory, force=True)
        manifest = load(directory).manifest
        bundles.append({"bundle": str(directory), "verified": True, "manifest": manifest})
        promise = f"{manifest['guarantee']['status']}: {manifest['guarantee']['sentence']}"
        lines.append(f"{directory!s:<24} {manifest['rows']:>8,} {manifest['users']:>8,}  {promise}")
    lines.append(f"Each bundle was written and verified. Look at {bundles[0]['bundle']}/README.md")
    answer({"bundles": bundles}, lines, as_json)
