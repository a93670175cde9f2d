"""A real browser for tests: Debian's Chromium driven by Playwright, or a skip that says what is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# WCAG 2: text whose contrast with what is behind it is below 4.5, in shadow trees too. Names in a picture may lie on
# any of its regions.
CONTRAST = """() => {
  const parts = c => (c.match(/[\\d.]+(e-?\\d+)?/g) || []).map(Number);
  const parse = c => parts(c).map((v, k) => c.startsWith('color(') && k < 3 ? 255 * v : v);
  const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const weight = [.2126, .7152, .0722];
  const light = rgb => rgb.slice(0, 3).reduce((s, v, i) => s + weight[i] * linear(v / 255), 0);
  const up = e => e.parentElement ?? e.getRootNode().host;
  const paper = e => { for (; e; e = up(e)) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
  const behind = e => e.matches('svg .name')
    ? [...e.closest('svg').querySelectorAll('.region')].map(r => parse(getComputedStyle(r).fill)) : [paper(e)];
  const ratio = (x, y) => { const [a, b] = [light(x), light(y)].sort((p, q) => q - p); return (a + .05) / (b + .05); };
  const within = root => root ? [...root.querySelectorAll('*')].flatMap(e => [e, ...within(e.shadowRoot)]) : [];
  const worst = [];
  for (const e of within(document.body)) {
    if (e.matches(':disabled, style, script') || !e.checkVisibility({visibilityProperty: true})) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e), front = parse(e instanceof SVGElement ? style.fill : style.color);
    const found = Math.min(...behind(e).map(c => ratio(front, c)));
    const halo = e instanceof SVGElement && found < 1.2;  // of the page's own colour, not meant to be read
    if (found < 4.5 && !halo) worst.push([found.toFixed(2), e.tagName, e.textContent.slice(0, 40)]);
  }
  return worst;
}"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium from the environment variable CHROMIUM or the path."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed: no browser tests (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()
