/** Red team: the release is made, then attacked; three questions, each finding with its limit and its control. */

import { make } from "/shared/dom.js";
import { odds } from "../odds.js";
import { hear } from "../notices.js";
import { action, bar, cards, jobList, part, refill } from "../pieces.js";
import { shortSpec } from "../specs.js";
import { busy, change, choices, jobs, now, onResult, watch, work } from "../state.js";
import { count, engine, interval, known, often, percent, say, slug } from "../words.js";

const KNOWN = [1, 2, 4, 8, 16];
let attacking = false; // the release is being made, and is then to be attacked

export function show(root) {
  const before = make("div");
  const working = make("ul", { class: "jobs" });
  const found = make("div");
  root.append(before, working, found);
  watch((state) => {
    const running = busy("bundle", "red-team").length > 0;
    jobList(working, jobs("bundle", "red-team"), (one) => say(`red.job.${one.kind}`));
    if (attacking && state.results.bundle && !running && !state.results["red-team"]) {
      attacking = false;
      work("red-team");
    }
    const { bundle, "red-team": attacked } = state.results;
    const key = `${running} ${bundle} ${attacked} ${choices().candidates.chosen}`;
    if (before.dataset.key !== key) {
      before.dataset.key = key;
      refill(before, ...(running || attacked ? [] : bundle ? [attackNow()] : making()));
    }
  });
  onResult("red-team", (report) => {
    refill(found, ...(report ? judged(report) : []));
    if (report) hear(summary(report), true);
  });
}

const attackNow = () =>
  make(
    "p",
    { class: "row" },
    action(say("red.attack"), () => work("red-team"), { class: "main", id: "attack" }),
  );

/** Before the release is made: what it costs, since noise is drawn once and the ledger counts it. */
function making() {
  const make_it = async () => {
    attacking = true;
    attacking = await work("bundle");
  };
  return [
    part(
      say("red.make"),
      make("p", { class: "lead" }, say("red.make.lead", { name: shortSpec(choices().candidates.chosen || "") })),
      now().seeded ? make("p", { class: "banner", role: "note" }, say("red.seeded")) : null,
      make("p", { class: "row" }, action(say("red.make.do"), make_it, { class: "main", id: "make" })),
    ),
  ];
}

function judged(report) {
  const promise = report.guarantee;
  const proved = promise?.status === "proved" || promise?.status === "experiment";
  return [
    make("p", { class: "verdict" }, summary(report)),
    ...report.criteria.map(criterion),
    part(
      say(proved ? "card.promise" : "card.no_promise"),
      proved ? odds(promise.epsilon, promise.unit) : make("p", {}, say("red.no_promise")),
      promise && make("p", { class: "small", ...engine }, promise.sentence),
    ),
    again(),
    report.not_run.length
      ? make(
          "details",
          {},
          make("summary", {}, say("red.not_run", { n: report.not_run.length })),
          make(
            "ul",
            { class: "bullets" },
            ...report.not_run.map((gap) => make("li", engine, `${gap.attack} (${gap.criterion}): ${gap.why}`)),
          ),
        )
      : null,
  ];
}

function summary(report) {
  const findings = report.criteria.flatMap((one) => one.findings);
  const above = findings.filter((one) => one.verdict === "above the limit").length;
  const between = findings.filter((one) => one.verdict === "cannot tell").length;
  if (!findings.length) return say("red.summary.none");
  if (above) return say("red.summary.above", { n: above });
  return between ? say("red.summary.between", { n: between }) : say("red.summary.below", { n: findings.length });
}

function criterion(one) {
  const name = slug(one.criterion);
  return part(
    known(`criterion.${name}`, one.criterion).text,
    make("p", { class: "lead" }, known(`criterion.${name}.question`, one.question).text),
    one.findings.length
      ? make("ul", { class: "findings" }, ...one.findings.map(finding))
      : make("p", { class: "empty" }, say("red.nothing")),
  );
}

const VERDICTS = { "below the limit": "below", "above the limit": "above" };

function finding(one) {
  const verdict = VERDICTS[one.verdict] ?? "between";
  const controls = [
    one.control != null && say("red.control", { share: percent(one.control) }),
    one.chance != null && say("red.chance", { share: percent(one.chance) }),
  ].filter(Boolean);
  return make(
    "li",
    { class: `finding ${verdict}` },
    make("span", { class: "title" }, known(`attack.${slug(one.attack)}`, one.attack).text),
    make("span", { class: `badge ${verdict}` }, say(`red.${verdict}`)),
    make("span", { class: "amount" }, make("b", {}, often(one.value)), " ", make("small", {}, interval(one))),
    bar(one, { limit: one.limit, colour: verdict === "above" ? "s0" : "s1" }),
    make(
      "span",
      { class: "says" },
      say("red.limit", { limit: percent(one.limit) }),
      ...controls.map((text) => ` · ${text}`),
      one.people ? ` · ${say("red.people", { people: count(one.people) })}` : "",
    ),
    make("span", { class: "says", ...engine }, one.sentence),
  );
}

/** The same attacks by somebody who knows more, or less. */
function again() {
  const { red_team: knowledge } = choices();
  const chosen = new Set(String(knowledge.known).split(",").map(Number));
  const boxes = KNOWN.map((n) =>
    make("label", { class: "tick" }, make("input", { type: "checkbox", value: n, checked: chosen.has(n) }), String(n)),
  );
  const ratings = ["both", "with", "without"].map((value) => ({ value, title: say(`red.ratings.${value}`) }));
  let wanted = knowledge.ratings;
  const run = async () => {
    const numbers = boxes
      .map((box) => box.querySelector("input"))
      .filter((box) => box.checked)
      .map((box) => box.value);
    if (await change({ red_team: { known: numbers.join(","), ratings: wanted } })) work("red-team", { again: true });
  };
  return part(
    say("red.again"),
    make("p", { class: "lead" }, say("red.again.lead")),
    make(
      "fieldset",
      { class: "ticks field", "data-field": "red_team.known" },
      make("legend", {}, say("red.again.known")),
      ...boxes,
    ),
    cards("red_team.ratings", say("red.again.ratings"), ratings, wanted, (value) => {
      wanted = value;
    }),
    make("p", { class: "row" }, action(say("red.again.do"), run, { id: "again" })),
  );
}
