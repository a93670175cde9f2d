"""The report: what it says follows from the measurements, and every rendering says the same."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from invented import invented

from recveil.evaluation.catalogue import attackers
from recveil.guarantee import nothing
from recveil.measurement import Measurement
from recveil.report import figures
from recveil.report.glossary import GLOSSARY
from recveil.report.html import html
from recveil.report.labels import spread, text_width
from recveil.report.pictures import INK
from recveil.report.sheets import SHEETS, sheet
from recveil.report.summary import summary
from recveil.report.table import Entry, Report
from recveil.report.text import text
from recveil.report.verdict import best, closest, headline, named, sentence
from recveil.report.words import percent, privacy, utility, with_interval


def entry(report: Report, name: str) -> Entry:
    return next(e for e in report.entries if e.spec.startswith(name))


def linked(value: float, low: float, high: float, **more: object) -> Measurement:
    return Measurement("linkage", value, low, high, 100, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.664, "66%"), (1.0, "100%"), (0.032, "3.2%"), (0.001, "0.1%"), (0.0, "0%"), (0.0001, "<0.1%"), (-0.38, "-38%")],
)
def test_percent_has_the_digits_that_the_size_deserves(value: float, shown: str) -> None:
    assert percent(value) == shown


def test_labels_follow_the_interval_not_the_value() -> None:
    assert privacy(linked(0.6, 0.5, 0.7, control=0.001)) == "finds most"
    assert privacy(linked(0.6, 0.49, 0.7, control=0.001)) == "finds some"
    assert privacy(linked(0.05, 0.02, 0.09, control=0.001)) == "finds few"
    assert privacy(linked(0.05, 0.02, 0.09, control=0.03)) == "finds few"  # claims on strangers are no excuse
    assert privacy(linked(0.15, 0.12, 0.17, control=0.19, chance=0.001)) == "finds some"
    assert privacy(linked(0.002, 0.0, 0.01, control=0.0, chance=0.001)) == "no better than a blind guess"
    assert privacy(None) == "not measured"
    assert utility(Measurement("lift", 0.1, -0.01, 0.2, 9)) == "not for certain better than most-popular"
    assert utility(Measurement("lift", -0.1, -0.2, -0.05, 9)) == "worse than most-popular"
    assert utility(Measurement("lift", 0.9, 0.8, 1.0, 9)) == "close to the real data"


def test_the_verdict_speaks_as_promised() -> None:
    report = invented()
    says = sentence(report, entry(report, "mbrw"))
    assert says == (
        "An attacker who knows 4 films of a viewer finds her record with 13% [11, 14]; on data she is not in: 0.1%. "
        "Whether she is in the data cannot be told by our attacks (AUC 0.54 [0.52, 0.56], weak evidence; a coin toss "
        "has 0.50). "
        "A recommender trained on this release keeps 59% [53, 65] of what the real data teach beyond popularity."
    )
    assert "with the ratings, finds" in sentence(report, entry(report, "pseudonymise"))
    assert "does worse than naming the most popular films" in sentence(report, entry(report, "pritop"))


def test_the_best_with_a_promise_and_the_best_without_stand_side_by_side() -> None:
    report = invented()
    private, walks = entry(report, "dp-streams"), entry(report, "mbrw")
    assert best(report, True) is private
    assert best(report, False) is None  # of the others each is found in, or teaches nothing
    assert headline(report).startswith("Best with a promise: dp-streams (epsilon 4 for a person), which keeps 64%")
    assert best(invented(4), True) is None
    assert headline(invented(4)) == "None of these releases both hides people and teaches a recommender."
    hidden = [replace(m, value=0.01, low=0.0, high=0.02) if m.mechanism == walks.spec and m.name == "linkage" else m
              for m in report.measurements]  # fmt: skip
    both = replace(report, measurements=tuple(hidden))
    assert list(named(both)) == ["best with a promise", "best without a promise"]
    says = headline(both)
    assert says.index("dp-streams") < says.index("; best without one: mbrw, which keeps 59%")
    assert says.endswith("and nothing bounds an attack that was not tried.")


@pytest.mark.parametrize("width", range(30, 100, 7))
def test_the_terminal_parts_no_name_at_its_hyphen(width: int) -> None:
    assert not [line for line in text(invented(), width) if line.endswith(("dp-", "random-", "shuffle-"))]


def test_a_promise_that_means_little_is_never_named() -> None:
    report = invented()
    private = entry(report, "dp-streams")
    huge = replace(private, guarantee=replace(private.guarantee, epsilon=100.0).weighed())
    worse = replace(report, entries=tuple(huge if e is private else e for e in report.entries))
    assert named(worse) == {}
    assert headline(worse) == "None of these releases both hides people and teaches a recommender."
    assert ">best with a promise<" not in html(worse) and ">best with a promise<" in html(report)
    for page in (lambda of: "\n".join(text(of)), html):
        assert "roved, means little" in page(worse) and "roved, means little" not in page(report)


def test_what_was_lost_is_part_of_the_verdict() -> None:
    report = invented()
    private = entry(report, "dp-streams")
    fewer = replace(private, items=247, items_of=600, drawn=True, lost=("the order of clicks is gone",))
    lossy = replace(report, entries=tuple(fewer if e is private else e for e in report.entries))
    assert "keeps 64% of what the data teach and 247 of 600 films (the order of clicks is gone)" in headline(lossy)
    says = sentence(lossy, fewer)
    assert "points at the drawn record most like hers" in says and "finds her record" not in says
    assert says.endswith("247 of 600 films are left; the order of clicks is gone.")
    assert "247 of 600 films, 47,000 rows; the order of clicks is gone" in html(lossy)


def test_strong_attacks_decide_before_weak_ones() -> None:
    report = invented()
    private = entry(report, "dp-streams")
    told = Measurement("shadow-auc", 0.9, 0.88, 0.92, 500, mechanism=private.spec)
    assert named(replace(report, measurements=(*report.measurements, told))) == {}
    mild = replace(told, value=0.6, low=0.58, high=0.62)
    found = replace(report, measurements=(*report.measurements, mild))
    assert found.membership(private) is mild and named(found) == {"best with a promise": private}


def test_a_word_that_needs_explaining_leads_to_its_meaning_once() -> None:
    page = html(invented())
    for word in GLOSSARY:
        assert page.count(f'href="#word-{word.lower()}"') <= 1
        assert page.count(f'id="word-{word.lower()}"') == 1
    assert all(f'href="#word-{word}"' in page for word in ("auc", "lift", "ndcg", "rmse", "tau", "epsilon"))


def test_a_label_is_as_wide_as_the_widest_font_makes_it() -> None:
    assert text_width("iiii", 10) < text_width("mmmm", 10)
    assert text_width("A dp-streams", 12.5) >= 86  # what DejaVu Sans Bold needs


def test_a_promise_that_means_little_is_said_first() -> None:
    report = invented()
    chosen = entry(report, "dp-streams")
    weak = replace(chosen, guarantee=replace(chosen.guarantee, epsilon=16.0).weighed())
    said = replace(report, entries=tuple(weak if e is chosen else e for e in report.entries))
    assert sentence(said, weak).startswith("Its promise means little: epsilon 16")
    assert closest(replace(said, entries=(weak,))) is None
    assert "This promise means little" in html(said)


def test_no_lift_where_the_real_data_do_not_beat_popularity() -> None:
    report = invented(2, lift=False)
    assert report.lift(report.entries[0]) is None
    assert "Lift is undefined" in sentence(report, report.entries[0])
    assert "Too little was measured" in headline(report)
    assert "undefined" in html(report)


def test_the_judge_is_chosen_on_the_real_data_alone() -> None:
    report = invented()
    assert report.judge() == "ease"
    on_release = {"referee": "als", "trained_on": "release", "n": 10}
    upset = [replace(m, value=0.9, high=0.9) if m.params == on_release else m for m in report.measurements]
    assert upset != list(report.measurements)
    assert replace(report, measurements=tuple(upset)).judge() == "ease"


def test_the_headline_takes_the_strongest_attacker_of_random_items() -> None:
    report = invented(1)
    rare = {"known": 4, "ratings": True, "items": "rare", "attacker": "intersection"}
    more = Measurement("linkage", 1.0, 1.0, 1.0, 900, params=rare, mechanism="pseudonymise")
    with_rare = replace(report, measurements=(*report.measurements, more))
    found = with_rare.found(report.entries[0])
    assert found is not None and found.params["items"] == "random" and found.params["attacker"] == "intersection"


def test_json_holds_every_measurement_in_the_contract_s_shape() -> None:
    report = invented()
    document = json.loads(json.dumps(report.record(), allow_nan=False))
    assert len(document["measurements"]) == len(report.measurements)
    wanted = {"name", "params", "mechanism", "value", "low", "high", "control", "chance", "n"}
    assert all(wanted <= set(m) for m in document["measurements"])
    link = next(m for m in document["measurements"] if m["name"] == "linkage")
    assert set(link["params"]) == {"known", "ratings", "items", "attacker"}
    assert document["verdict"][0] == headline(report)


def test_terminal_and_page_say_the_same_numbers() -> None:
    report = invented()
    lines, page = "\n".join(text(report)), html(report)
    for e in report.entries:
        found, lift = report.found(e), report.lift(e)
        assert found is not None and lift is not None
        assert with_interval(found) in lines and with_interval(lift) in lines
        assert percent(found.value) in page and percent(lift.value) in page
    assert max(len(line) for line in text(report)) <= 110


def test_every_measurement_stands_in_a_table() -> None:
    report = invented()
    shown = [m for name in SHEETS for row in sheet(report, name).rows for m in (row.real, *row.cells) if m is not None]
    once = [m for m in report.measurements if m.params.get("trained_on") != "real"]
    assert {id(m) for m in once} <= {id(m) for m in shown}


class Tags(HTMLParser):
    """Counts open tags and collects what the page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "wbr"):
            self.open.append(tag)
        self.loads += [v for k, v in attrs if k in ("src", "href", "xlink:href") and v and not v.startswith("#")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_small_and_loads_nothing() -> None:
    page = html(invented())
    tags = Tags()
    tags.feed(page)
    assert not tags.open and not tags.loads
    assert "<script" not in page and "@import" not in page and "url(" not in page
    assert len(page.encode()) < 3_000_000
    for colour in INK.values():
        assert f'"{colour}"' not in page, "a colour that does not follow the theme"


def test_what_comes_from_data_is_escaped() -> None:
    report = invented(1)
    evil = replace(report.entries[0], guarantee=nothing("<script>alert(1)</script>"))
    page = html(replace(report, entries=(evil,), data={**report.data, "source": "<b>&x"}))
    assert "<script>" not in page and "&lt;script&gt;" in page and "&lt;b&gt;&amp;x" in page


@pytest.mark.parametrize("mechanisms", [1, 2, 6])
def test_the_page_stands_with_few_mechanisms_and_few_measurements(mechanisms: int) -> None:
    report = invented(mechanisms)
    for kept in ((), report.measurements[:1], [m for m in report.measurements if m.name == "lift"]):
        assert "<h1>" in html(replace(report, measurements=tuple(kept)))


def test_figures_as_files(tmp_path: Path) -> None:
    written = figures.save(invented(2), tmp_path)
    assert sorted(p.name for p in written) == sorted(
        f"{name}.{suffix}"
        for name in ("frontier", "linkage", "ranks-A-ndcg", "ranks-B-ndcg")
        for suffix in ("svg", "png")
    )
    assert (tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")
    drawing = (tmp_path / "frontier.svg").read_text(encoding="utf-8")
    assert "A pseudonymise" in drawing and "B random-ratings" in drawing


def test_labels_do_not_cover_each_other() -> None:
    points = [(100.0, 100.0 + i, 90.0) for i in range(8)]
    placed = spread(points, 600, 400)
    boxes = [(x if side == "left" else x - 90, y - 8) for x, y, side in placed]
    for i, (x, y) in enumerate(boxes):
        assert all(abs(x - u) >= 90 or abs(y - v) >= 16 for u, v in boxes[:i])
    column = sorted(y for _, y, _ in spread([(0.0, 395.0, 0.0)] * 5, 0, 400, column=True))
    assert all(b - a >= 16.9 for a, b in pairwise(column)) and column[-1] <= 400


def test_weak_evidence_is_called_so_and_attackers_say_what_they_know() -> None:
    report = invented(2)
    weak = report.named("membership-auc", "pseudonymise")[0]
    shadow = replace(weak, name="shadow-auc", params={"ceiling": 0.7}, measure="shadow")
    assert set(report.attackers) == {"linkage", "membership"} and report.attackers["membership"]["weak"]
    assert "AUC 0.95 [0.93, 0.97], weak evidence;" in sentence(report, entry(report, "pseudonymise"))
    page = html(report)
    assert "membership-auc <em>weak evidence</em>" in page and report.attackers["linkage"]["knows"] in page
    strong = replace(
        report,
        measurements=(*report.measurements, shadow),
        attackers=attackers(("linkage", "membership", "shadow")),
    )
    assert "weak evidence;" not in sentence(strong, entry(strong, "pseudonymise"))
    rows = sheet(strong, "attacks").rows
    assert {row.title: row.weak for row in rows} == {"linkage": False, "membership-auc": True, "shadow-auc": False}
    assert "its promise allows 0.700" in html(strong)


def test_what_a_measurement_is_stands_in_the_catalogue_and_not_in_its_name() -> None:
    report = invented(1)
    odd = Measurement("a word of its own", 0.5, 0.4, 0.6, 10, mechanism="pseudonymise", measure="reconstruction")
    alike = replace(odd, name="linkage of nothing", measure="popularity")
    more = replace(report, measurements=(odd, alike), attackers=attackers(("reconstruction",)))
    assert [row.title for row in sheet(more, "attacks").rows] == ["a word of its own"]
    assert [row.title for row in sheet(more, "structure").rows] == ["linkage of nothing"]


def test_of_one_release_it_is_said_whether_it_does_both() -> None:
    report = invented()
    alone = replace(report, entries=(entry(report, "dp-streams"),))
    assert headline(alone).endswith(
        "of what the data teach: it hides people from our attacks, and teaches a recommender."
    )
    assert "best with" not in html(alone)
    assert headline(invented(1)) == "This release does not both hide people and teach a recommender."


def test_a_release_in_ten_lines() -> None:
    report = replace(invented(1), meta={"warning": "only 3 of its 9 items are in the data"})
    shown = summary(report)
    assert shown[0] == "WARNING: only 3 of its 9 items are in the data" and len(shown) <= 11
    assert any("finds her record" in line and "finds most" in line for line in shown)
    assert any(line.startswith("a recommender keeps") and "close to the real data" in line for line in shown)
