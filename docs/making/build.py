"""make docs: the pages of docs/ and those that are made, into build/docs/html. Nothing is fetched.

The sources are copied to build/docs/source, so that made pages stand beside written ones and docs/ stays as it is.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from making import (
    atlas,
    claims,
    command_line,
    epsilon,
    glossary,
    http_api,
    links,
    mechanisms,
    open_benchmark,
    python_face,
    shapes,
)

DOCS = Path(__file__).parent.parent
PROJECT = DOCS.parent
MADE = (atlas, claims, command_line, glossary, http_api, mechanisms, open_benchmark, python_face, shapes)
FILLED = {
    "tutorials/officer.md": epsilon.PLACES,
    "index.md": open_benchmark.FRONT,
    "explanation/rivals.md": open_benchmark.RIVALS,
    "explanation/dp_streams.md": open_benchmark.MECHANISMS,
    "explanation/dp_ratings.md": open_benchmark.MECHANISMS,
}
BESIDE = {"deploy/README.md": "howto/deploy.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def assemble(source: Path) -> None:
    """Written pages, pages from elsewhere in the project, notebooks, and made pages."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(DOCS, source, ignore=shutil.ignore_patterns("making", "kept", "__pycache__"))
    for origin, page in BESIDE.items():
        (source / page).write_text((PROJECT / origin).read_text(encoding="utf-8"), encoding="utf-8")
    advisor = source / "howto" / "advisor.md"
    advisor.write_text(
        advisor.read_text(encoding="utf-8").replace("../../deploy/README.md", "deploy.md"), encoding="utf-8"
    )
    shutil.copytree(PROJECT / "examples", source / "examples")
    (source / "examples" / "README.md").rename(source / "examples" / "index.md")
    with (source / "examples" / "index.md").open("a", encoding="utf-8") as index:
        index.write("\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n")
    for name, places in FILLED.items():
        text = (source / name).read_text(encoding="utf-8")
        for place, make in places.items():
            text = text.replace(f"<!-- made: {place} -->", make())
        (source / name).write_text(text, encoding="utf-8")
    for room in MADE:
        for name, text in room.pages():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


# What the theme leaves out for those who do not see the page, or have no mouse.
MENDED = {
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<div id="search-results">': '<h1>Search</h1><div id="search-results">',
}


def mend(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for old, new in MENDED.items():
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=PROJECT / "build" / "docs", help="a folder that is made anew")
    parser.add_argument("--no-notebooks", action="store_true", help="show notebooks without running them")
    asked = parser.parse_args()
    source, site = asked.into / "source", asked.into / "html"
    assemble(source)
    shutil.rmtree(site, ignore_errors=True)
    options = ["-D", "nb_execution_mode=off"] if asked.no_notebooks else []
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "-b", "html", *options, source, site],
        check=False,
    )
    if done.returncode:
        return done.returncode
    mend(site)
    wrong = links.broken(site.resolve())
    print("\n".join(wrong) or f"{site / 'index.html'}: every internal link leads somewhere")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
