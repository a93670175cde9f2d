/** Watch: what was released about these people before, what it adds up to, what ends when, and the attacks again. */

import { make } from "/shared/dom.js";
import { odds } from "../odds.js";
import { says } from "../notices.js";
import { action, field, jobList, part, refill, told } from "../pieces.js";
import { series } from "../series.js";
import { ask } from "../server.js";
import { shortSpec } from "../specs.js";
import { act, busy, jobs, now, watch, work } from "../state.js";
import { date, known, plain, say, slug } from "../words.js";

const DAY = 24 * 3600 * 1000;

export async function show(root) {
  const place = make("div");
  const working = make("ul", { class: "jobs" });
  const run = action(say("watch.again.do"), () => work("red-team", { again: true }), { id: "again" });
  root.append(
    place,
    part(
      say("watch.again"),
      make("p", { class: "lead" }, say("watch.again.lead")),
      make("p", { class: "row" }, run, make("a", { class: "button", href: "/red-team" }, say("watch.again.see"))),
      working,
    ),
    part(say("watch.back"), takeBack()),
  );
  let seen = "";
  watch(async ({ results }) => {
    run.disabled = busy("red-team").length > 0;
    jobList(working, jobs("red-team"), () => say("red.job.red-team"));
    const key = [results.bundle, results.published, results.sheet].join();
    if (key === seen) return;
    seen = key;
    refill(place, ...look(await ask("GET", "/api/watch")));
  });
}

function look(found) {
  return [
    found.alarms.length
      ? make(
          "section",
          { class: "problem alarms", role: "alert" },
          make("h2", {}, say("watch.alarms")),
          make("ul", { class: "bullets" }, ...found.alarms.map((one) => make("li", {}, alarm(one)))),
        )
      : null,
    part(
      say("watch.releases"),
      found.releases.length ? table(found.releases) : make("p", { class: "empty" }, say("watch.none")),
    ),
    ...found.series.map(series),
    found.totals.length
      ? part(
          say("watch.total"),
          make("p", { class: "lead" }, say("watch.total.lead")),
          ...told(found.totals),
          ...told(found.budgets ?? []),
          sum(found),
        )
      : null,
    found.bundles?.length
      ? part(say("watch.bundles"), make("ul", { class: "bullets" }, ...found.bundles.map(bundle)))
      : null,
    part(say("watch.expires"), ends(found.expires)),
    found.claims.length
      ? part(say("watch.claims"), make("ul", { class: "bullets" }, ...found.claims.map(claim)))
      : null,
    found.problems.length
      ? part(say("watch.problems"), make("ul", { class: "bullets" }, ...told(found.problems, "li")))
      : null,
  ];
}

function alarm(one) {
  if (one.kind === "attack") return say("watch.alarm.attack", { attack: known(`attack.${slug(one.attack)}`, one.attack).text });
  return one.kind === "release" ? say("watch.alarm.release", { n: one.n }) : say("watch.alarm.review", { date: date(one.date) });
}

/** The owner takes it back: signed with her key, and moved from where it goes out. */
function takeBack() {
  const inputs = ["name", "role", "reason"].map((key) => [key, make("input", { type: "text", maxlength: 500 })]);
  const sign = async () => {
    const said = Object.fromEntries(inputs.map(([key, input]) => [key, input.value.trim()]));
    if (await act(() => ask("POST", "/api/withdraw", { ...said, version: now().project.version }))) says(say("decide.signed.withdrawn"));
  };
  return make(
    "details",
    {},
    make("summary", {}, say("watch.withdraw")),
    make("p", {}, say("watch.withdraw.lead")),
    ...inputs.map(([key, input]) => field(`officer.${key}`, say(`decide.${key}`), input, say(`decide.${key}.hint`))),
    make("p", { class: "row" }, action(say("decide.do.withdrawn"), sign, { class: "danger", id: "withdraw" })),
  );
}

/** The dots of all promises about people together, where they simply add up. */
function sum({ releases }) {
  const promised = releases.filter((one) => one.epsilon != null && one.status === "proved" && one.unit === "user");
  return promised.length > 0 && promised.length === releases.length
    ? odds(promised.reduce((all, one) => all + one.epsilon, 0))
    : null;
}

function table(releases) {
  const head = ["date", "mechanism", "promise", "unit"].map((key) => make("th", { scope: "col" }, say(`watch.${key}`)));
  const row = (one) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, one.date ? date(one.date) : ""),
      make("td", {}, known(`mechanism.${one.mechanism?.split(":")[0]}`, one.mechanism).text),
      make(
        "td",
        {},
        one.epsilon == null
          ? say("watch.no_promise")
          : `ε ${plain(one.epsilon)}${one.delta ? `, δ ${plain(one.delta)}` : ""}`,
      ),
      make("td", {}, one.unit ? known(`unit.${one.unit}.short`, one.unit).text : ""),
    );
  return make(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": say("watch.releases") },
    make(
      "table",
      { class: "releases" },
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...releases.map(row)),
    ),
  );
}

/** A bundle that this project made, and what became of it. */
function bundle(one) {
  const became = one.published ? "published" : one.decision || "undecided";
  return make(
    "li",
    {},
    make("code", {}, one.name),
    ` ${shortSpec(one.spec)}: ${say(`watch.${one.seeded ? "seeded" : became}`)}`,
  );
}

function ends(until) {
  if (!until) return make("p", {}, say("watch.no_end"));
  const days = Math.ceil((new Date(until) - Date.now()) / DAY);
  return make(
    "p",
    { class: days < 0 ? "banner refused" : null },
    days < 0 ? say("watch.over", { date: date(until) }) : say("watch.ends", { date: date(until), n: days }),
  );
}

const claim = (one) =>
  make(
    "li",
    {},
    say("watch.claim", { kind: known(`claim.${one.kind}`, one.kind).text, date: one.date ? date(one.date) : "" }),
    one.facts?.by ? ` ${say("watch.by", { name: one.facts.by, role: one.facts.role ?? "" })}` : "",
  );
