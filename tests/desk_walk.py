"""The way of an owner and an officer through the desk, from a file to a published bundle, in any browser."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from desks import RunningDesk, decides

from recveil.governance.verification import verify_bundle

PAGES = ("start", "people", "exposure", "recipient", "use", "candidates", "red-team", "decide", "publish", "judge",
         "watch")  # fmt: skip
PATIENCE = 600.0  # seconds for one piece of work: machines are shared
ODD = ("Kunden-Nr.", "Produkt, Name", "Sterne (1–5)", "Bemerkung")
MARKUP = "Käufe & <b>Sterne.csv"


class Driver(Protocol):
    """What a walk needs of a browser; a css finds one element, and what is not there yet is waited for."""

    def open(self, page: str) -> None: ...
    def click(self, css: str) -> None: ...
    def fill(self, css: str, text: str) -> None: ...
    def select(self, css: str, value: str) -> None: ...
    def give(self, css: str, file: Path) -> None: ...
    def wait(self, css: str, seconds: float = 30.0) -> None: ...
    def text(self, css: str) -> str: ...
    def number(self, css: str) -> int: ...


@dataclass(frozen=True)
class Wishes:
    """What is chosen on the way: the spec of the release, the recipient, and the use."""

    spec: str
    to: str = "public"
    use: str = "recommend"
    unit: str = "user"


@dataclass(frozen=True)
class Way:
    """A whole way: how data are given to the first screen, the language, and what is chosen after it."""

    begin: Callable[[Driver, Path], None]
    language: str
    wishes: Wishes


def take_tour(to: Driver, _: Path) -> None:
    """The guided tour, on the sample."""
    to.open("start")
    to.click("#take-tour")
    to.wait("#tour:not([hidden]) .named", PATIENCE)


def send_odd_file(to: Driver, folder: Path) -> None:
    """Columns that no tool knows, and a name that holds markup."""
    to.open("start")
    to.give("#file", odd_file(folder))
    name_columns(to)


def name_columns(to: Driver) -> None:
    to.wait("#found .problem", PATIENCE)  # which column is what cannot be told
    for row, role in enumerate(("user", "item", "rating"), 1):
        assert to.text(f"#found tbody tr:nth-child({row}) th") == ODD[row - 1]
        to.select(f"#found tbody tr:nth-child({row}) select", role)
    to.click("#found form button")


def send_sessions(to: Driver, folder: Path) -> None:
    to.open("start")
    to.give("#file", session_file(folder))


WAYS = {
    "films": Way(take_tour, "en", Wishes("dp-ratings:epsilon=4,delta=1e-6,scale=1..5")),
    "odd": Way(send_odd_file, "de", Wishes("mask")),
    "sessions": Way(send_sessions, "en", Wishes("mbrw", to="contractor")),
}


def go(to: Driver, way: Way, folder: Path, desk: RunningDesk) -> None:
    """From nothing to a published bundle; a tour has a project of its own."""
    way.begin(to, folder)
    to.wait("#found .big", PATIENCE)
    walk(to, way.wishes, project_of(desk))


def project_of(desk: RunningDesk) -> Path:
    return Path(desk.state()["project"]["folder"])


def walk(to: Driver, wishes: Wishes, folder: Path) -> None:
    """From data that were recognised to the page of what goes out."""
    onward(to)
    to.click(f"input[name='protect.unit'][value='{wishes.unit}']")
    onward(to)
    to.wait(".verdict", PATIENCE)
    assert "%" in to.text(".verdict")
    to.wait(".picture .line")
    to.wait(".riskiest li, .riskiest:empty", PATIENCE)
    onward(to)
    to.click(f"input[name='recipient.name'][value='{wishes.to}']")
    to.wait("#steps li.done a[href='/recipient']")
    onward(to)
    to.click(f"input[name='use.what'][value='{wishes.use}']")
    onward(to)
    candidates(to, wishes)
    onward(to)
    to.click("#make")
    to.wait(".finding", PATIENCE)
    onward(to)
    decide(to, folder)
    onward(to)
    to.click("#publish")
    to.wait(".outcome.for", PATIENCE)
    onward(to)
    to.wait(".releases tbody tr")


def onward(to: Driver) -> None:
    to.click("#next")


def candidates(to: Driver, wishes: Wishes) -> None:
    """Leave one of those that are suggested, or add it; run it, click its point and take it."""
    to.wait(".candidates .job")
    other = f".candidates .job:not(:has([data-key='drop-{wishes.spec}'])) [data-key^='drop-']"
    while to.number(other):
        there = to.number(".candidates .job")
        to.click(other)
        to.wait(f".candidates:not(:has(.job:nth-child({there})))")
    if not to.number(f"[data-key='drop-{wishes.spec}']"):
        to.click(".additions summary")
        to.fill("#field-candidates-specs", wishes.spec)
        to.click("#field-candidates-specs + button")
        to.wait(f"[data-key='drop-{wishes.spec}']")
    to.click("#run")
    to.wait(".candidates .job.done", PATIENCE)
    to.click(".frontier .mark .point, [data-key^='card-']")
    to.wait(".card-of .hundred, .card-of h4")
    to.click("#take")
    to.wait(".card-of.chosen")


def decide(to: Driver, folder: Path) -> None:
    """The sheet is read here; the officer signs at her own door."""
    to.wait("iframe.sheet", PATIENCE)
    to.wait("#dossier")
    decides(
        folder,
        name="Jörg <b>Müller</b>",
        role="Datenschutz",
        conditions=["no joining with other data", "to be deleted on request"],
        until="2999-06-30",
    )
    to.wait(".banner.approved", PATIENCE)
    assert "<b>" in to.text(".banner.approved")


def odd_file(folder: Path, people: int = 150) -> Path:
    """Ratings under column names that no tool knows, with a column of remarks, in a file whose name holds markup."""
    rng = np.random.default_rng(5)
    path = folder / MARKUP
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(ODD)
        for person in range(people):
            taste = rng.permutation(40)[: rng.integers(8, 16)] // (1 + person % 2)
            for item in np.unique(taste):
                rows.writerow([f"K{person}", f"Ding {item}", rng.integers(1, 6), "schön"])
    return path


def session_file(folder: Path, people: int = 900) -> Path:
    """Clicks of people who come back: user, session, item, time."""
    rng = np.random.default_rng(6)
    path = folder / "visits.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "session", "item", "time"])
        clock = 0
        for person in range(people):
            for visit in range(int(rng.integers(1, 5))):
                at = int(rng.integers(0, 24))
                for _ in range(int(rng.integers(3, 9))):
                    clock += 1
                    rows.writerow([f"p{person}", f"s{person}-{visit}", f"i{at}", 1_700_000_000 + clock])
                    at = int((at + rng.integers(1, 4)) % 24)
    return path


def check_published(desk: RunningDesk) -> Path:
    """The published bundle of a desk, verified as its receiver would, with signatures of owner and officer."""
    found = desk.get("/api/published")
    bundle = project_of(desk) / found["place"] / "bundle"
    verified = verify_bundle(bundle)
    assert not verified.problems
    assert [claim["kind"] for claim in verified.claims.record()] == ["released", "approved"]
    assert [job["line"] for job in desk.state()["work"] if job["state"] == "failed"] == []
    return bundle
