"""Every internal link of the built site leads to a page that is there, and to a place that is on it."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places of a page and what it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.places |= {name for key in ("id", "name") if (name := named.get(key))}
        for key in ("href", "src"):
            if tag != "base" and (to := named.get(key)):
                self.links.append(to)


def broken(site: Path) -> list[str]:
    """A line for each link that leads nowhere; what lies outside of the site is not asked for."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if to.is_dir():
                to /= "index.html"
            at = unquote(parts.fragment)
            if not to.is_file():
                found.append(f"{path.relative_to(site)}: {link} is not there")
            elif at and to in pages and at not in pages[to].places:
                found.append(f"{path.relative_to(site)}: {link} names no place on that page")
    return sorted(set(found))


if __name__ == "__main__":
    wrong = broken(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or "every internal link leads somewhere")
    sys.exit(bool(wrong))
