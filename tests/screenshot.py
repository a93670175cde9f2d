"""A picture of a report for README: python tests/screenshot.py demo/report.html docs/images/report.png"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from browser import ARGUMENTS
from playwright.sync_api import sync_playwright

WIDTH, MOST = 1120, 1600


def main(page: str, picture: str) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        tab.goto(Path(page).resolve().as_uri())
        end = tab.locator(".card").first.bounding_box()  # verdict, frontier and the first cards
        height = min(MOST, int(end["y"] + end["height"]) + 24) if end else MOST
        Path(picture).parent.mkdir(parents=True, exist_ok=True)
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height}
        tab.screenshot(path=picture, full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:3])
