"""Run the pages that readers follow: the `sh` and `python` blocks of a page, in order, in an empty folder.

Blocks of a page share the folder, and its Python blocks their names. A block that needs what is not there (a cluster,
a data set) is marked `bash` and only shown.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

DOCS = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Tutorials and how-to pages that have a block to run."""
    found = [*sorted((DOCS / "tutorials").glob("*.md")), *sorted((DOCS / "howto").glob("*.md"))]
    return [page for page in found if BLOCK.search(page.read_text(encoding="utf-8"))]


def script(page: Path) -> str:
    """The blocks of a page as one shell script. Python blocks in a row are one program; one after a shell block begins
    with those before it, silent."""
    lines, before = ["set -eu"], ""
    for language, blocks in groupby(BLOCK.findall(page.read_text(encoding="utf-8")), key=lambda block: block[0]):
        code = "".join(text for _, text in blocks)
        if language == "sh":
            lines.append(code)
            continue
        quiet = "import contextlib as _c, io as _i\nwith _c.redirect_stdout(_i.StringIO()):\n    exec({!r})\n"
        lines.append(f"python -c {shlex.quote((quiet.format(before) if before else '') + code)}")
        before += code
    return "\n".join(lines) + "\n"


def run(page: Path, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What came out. `environment` has a PATH on which `recveil` and `python` are those to be tried."""
    command = ["sh", "-c", script(page)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def environment(cache: Path) -> dict[str, str]:
    """This interpreter's own programs first, and a cache of its own."""
    import os

    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "XDG_CACHE_HOME": str(cache)}


def tried(page: Path) -> bool:
    """Whether a page runs; what came out is printed where it does not."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        done = run(page, Path(folder), environment(Path(cache)))
    said = [f"{page.name}: {'FAILS' if done.returncode else 'runs'}, {time.monotonic() - begin:.0f} s"]
    print("\n".join(said + [done.stdout[-2000:], done.stderr[-3000:]] * bool(done.returncode)), flush=True)
    return not done.returncode


def main() -> int:
    with ThreadPoolExecutor(2) as pool:
        return int(not all(pool.map(tried, [Path(name) for name in sys.argv[1:]] or pages())))


if __name__ == "__main__":
    sys.exit(main())
