/** Red team: the release is made, then attacked; three questions, each finding with its limit and its control. */

import { make } from "/shared/dom.js";
import { odds } from "../odds.js";
import { hear } from "../notices.js";
import { action, bar, cards, field, jobList, meter, own, part, refill } from "../pieces.js";
import { shortSpec } from "../specs.js";
import { busy, change, choices, jobs, now, onResult, watch, work } from "../state.js";
import { count, interval, known, often, percent, say, slug } from "../words.js";

const KNOWN = [1, 2, 4, 8, 16];

export function show(root) {
  const before = make("div");
  const working = make("ul", { class: "jobs" });
  const found = make("div");
  root.append(before, working, found);
  watch((state) => {
    const running = busy("bundle", "red-team").length > 0;
    jobList(working, jobs("bundle", "red-team"), (one) => say(`red.job.${one.kind}`));
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
  return [
    part(
      say("red.make"),
      make("p", { class: "lead" }, say("red.make.lead", { name: shortSpec(choices().candidates.chosen || "") })),
      now().seeded ? make("p", { class: "banner", role: "note" }, say("red.seeded")) : null,
      make("p", { class: "row" }, action(say("red.make.do"), () => work("red-team"), { class: "main", id: "make" })),
    ),
  ];
}

function judged(report) {
  const promise = report.guarantee;
  const proved = promise?.status === "proved" || promise?.status === "experiment";
  return [
    missing(report),
    make("p", { class: "verdict" }, summary(report)),
    part(say("red.use"), ...useKept(report.use)),
    ...report.criteria.map(criterion),
    part(
      say(proved ? "card.promise" : "card.no_promise"),
      proved ? odds(promise.epsilon, promise.unit) : make("p", {}, say("red.no_promise")),
      promise && own("p", promise.sentence, { class: "small" }),
    ),
    again(),
  ];
}

/** What was not tried stands first, each with what runs it. */
function missing(report) {
  if (!report.not_run.length && report.weaker == null) return null;
  const shadows = report.not_run.some((gap) => gap.needs === "shadows");
  const run = async () => {
    if (await change({ red_team: { shadows: 8, measures: [], known: "" } })) work("red-team", { again: true });
  };
  return make(
    "section",
    { class: "banner missing", "aria-label": say("red.missing") },
    make("h2", {}, say("red.missing")),
    report.weaker != null && make("p", {}, say("red.weaker", { n: report.weaker })),
    make("ul", { class: "bullets" }, ...report.not_run.map((gap) => make("li", {}, ...gapOf(gap)))),
    shadows || report.weaker != null || choices().red_team.measures.length
      ? make("p", { class: "row" }, action(say("red.run_missing"), run, { id: "run-missing" }))
      : null,
    ...["attributes", "also"].map(brought),
  );
}

const gapOf = (gap) => [
  make("b", {}, gap.name),
  ` (${known(`criterion.${slug(gap.criterion)}`, gap.criterion).text}): `,
  make("span", {}, gap.why),
];

/** A file that an attack needs: what people are, or another release of the same people. */
function brought(key) {
  const input = make("input", { type: "text", spellcheck: "false" });
  input.value = choices().red_team[key];
  const use = async () => {
    if (await change({ red_team: { [key]: input.value.trim() } })) work("red-team", { again: true });
  };
  return make(
    "details",
    {},
    make("summary", {}, say(`red.${key}`)),
    field(`red_team.${key}`, say(`red.${key}.path`), input, say(`red.${key}.hint`)),
    make("p", { class: "row" }, action(say("red.again.do"), use)),
  );
}

/** Use against the wish: the other half. */
function useKept(use) {
  if (!use?.length) return [make("p", { class: "empty" }, say("red.use.none"))];
  return use.map((one) =>
    meter(say(`wish.${one.what}`), one.value == null ? null : one, say(`red.use.${one.verdict}`, { share: percent(one.asked) }), {
      limit: one.asked,
      colour: one.verdict === "kept" ? "s2" : one.verdict === "short" ? "s0" : "s3",
    }),
  );
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
    one.gain && say("red.gain", { share: percent(one.gain[0]), low: percent(one.gain[1]), high: percent(one.gain[2]) }),
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
    make("span", { class: "says" }, one.sentence),
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
