/** Candidates: run side by side; the picture fills in as results come, and a click on a point shows its card. */

import { make } from "/shared/dom.js";
import { additions } from "../additions.js";
import { advice } from "../advice.js";
import { candidateCard } from "../candidate.js";
import { curve } from "../curve.js";
import { frontier } from "../frontier.js";
import { action, job, part, refill, told, written } from "../pieces.js";
import { hear } from "../notices.js";
import { sameSpec, shortSpec } from "../specs.js";
import { busy, cancel, change, choices, jobs, onResult, watch, work } from "../state.js";
import { count, known, say } from "../words.js";

let entries = [];
let given = []; // advice, where nothing is good enough
let shown = null; // the id of the card that is open

export function show(root) {
  let limits = null; // the corner of the picture: what the recipient accepts, and what must still work
  const list = make("ul", { class: "jobs candidates" });
  const places = { picture: make("div"), card: make("div", { id: "card" }), little: make("div"), verdict: make("div"), advice: make("div") };
  const run = action(say("candidates.run"), () => work("candidates"), { class: "main", id: "run" });
  const stop = action(
    say("candidates.stop"),
    async () => {
      for (const one of busy("candidate")) await cancel(one.id);
    },
    { id: "stop" },
  );
  root.append(
    make("p", { class: "banner", role: "note" }, say("candidates.outside")),
    list,
    make("p", { class: "row" }, run, stop),
    additions(),
    places.advice,
    part(
      say("candidates.frontier"),
      make("p", { class: "lead" }, say("candidates.frontier.lead")),
      places.picture,
      places.card,
    ),
    places.verdict,
    places.little,
  );
  function open(id) {
    shown = id;
    paint();
    places.card.querySelector("h3")?.focus();
  }
  watch(() => {
    const running = busy("candidate");
    stop.hidden = !running.length;
    run.disabled = !waiting().length;
    refill(list, ...listed(open));
    const done = jobs("candidate").filter((one) => one.state === "done").length;
    refill(places.advice, running.length ? null : advice(given)); // while trials run, one of them may be good enough
    if (running.length) hear(say("candidates.heard", { done, of: done + running.length }));
  });
  function paint() {
    draw(places, limits, open);
  }
  onResult("overview", (overview) => {
    if (overview?.starters.length && !specs().length) change({ candidates: { specs: overview.starters } });
  });
  onResult("candidates", (found) => {
    entries = found?.entries ?? [];
    given = found?.advice ?? [];
    limits = found && { ...found.limits, kept: choices().use.keep };
    refill(places.advice, busy("candidate").length ? null : advice(given));
    shown ??= entries.find((one) => one.chosen)?.id ?? null;
    refill(
      places.verdict,
      found
        ? make("p", {}, make("a", { href: "/api/candidates/report", target: "_blank", rel: "noopener" }, say("candidates.report")))
        : null,
    );
    if (found?.skipped.length)
      places.verdict.append(make("details", {}, make("summary", {}, say("candidates.skipped")), ...told(found.skipped)));
    paint();
  });
}

/** What of a figure counts: the gain over strangers, where the same was counted for them. */
const counted = (m) => (m.gain ? { value: m.gain[0], low: m.gain[1], high: m.gain[2] } : m);

const specs = () => [...choices().candidates.specs, ...choices().candidates.files];
const jobOf = (spec) => jobs("candidate").findLast((one) => sameSpec(one.title, spec));
const specOf = (id) => specs().find((spec) => jobOf(spec)?.id === id) ?? "";
const waiting = () => specs().filter((spec) => !["done", "queued", "running"].includes(jobOf(spec)?.state));
const letter = (spec) => String.fromCharCode(65 + (specs().indexOf(spec) % 26));
const colour = (spec) => `s${specs().indexOf(spec) % 8}`;

function listed(open) {
  return specs().map((spec) => {
    const { specs: ours, files } = choices().candidates;
    const drop = () =>
      change({ candidates: { specs: ours.filter((one) => one !== spec), files: files.filter((one) => one !== spec) } });
    const name = known(`mechanism.${spec.split(":")[0]}`, spec).text;
    const title = make(
      "span",
      {},
      make("span", { class: `key ${colour(spec)}` }, letter(spec)),
      " ",
      make("b", {}, name),
      " ",
      make("code", {}, ...written(spec)),
    );
    const made = jobOf(spec) ?? { id: spec, title: spec, state: "waiting", line: "" };
    const remove = ["queued", "running"].includes(made.state)
      ? null
      : action(say("candidates.remove"), drop, {
          class: "quiet small-button",
          "data-key": `drop-${spec}`,
          "aria-label": say("candidates.remove_one", { name: spec }),
        });
    const card =
      made.state === "done" &&
      action(say("candidates.card"), () => open(made.id), {
        class: "quiet small-button",
        "data-key": `card-${spec}`,
        "aria-label": say("candidates.card_of", { name: spec }),
      });
    const take =
      made.state === "done" &&
      ours.includes(spec) &&
      !sameSpec(spec, choices().candidates.chosen) &&
      action(say("candidates.take"), () => change({ candidates: { chosen: spec } }), {
        class: "small-button",
        "data-key": `take-${spec}`,
        "aria-label": say("candidates.take_one", { name: spec }),
      });
    const taken = sameSpec(spec, choices().candidates.chosen) && make("b", { class: "taken" }, say("candidates.taken"));
    return job(made, title, make("span", { class: "actions" }, taken, take, card, remove));
  });
}

function draw(places, limits, choose) {
  const points = entries
    .filter((one) => one.found && one.lift)
    .map((one) => ({
      id: one.id,
      key: letter(specOf(one.id)),
      name: shortSpec(one.spec),
      colour: colour(specOf(one.id)),
      found: counted(one.found),
      known: one.known,
      kept: one.lift,
    }));
  const chosen = choices().candidates.chosen;
  const one = entries.find((entry) => entry.id === shown);
  const take = async () => {
    if (await change({ candidates: { chosen: specOf(one.id) } })) choose(one.id);
  };
  refill(
    places.picture,
    points.length
      ? frontier(points, { limits, chosen: shown, choose, known: points[0].known })
      : make("p", { class: "empty" }, say("candidates.empty")),
    unplaced(choose),
  );
  refill(
    places.card,
    one
      ? candidateCard(one, {
          key: letter(specOf(one.id)),
          colour: colour(specOf(one.id)),
          limits,
          chosen: sameSpec(specOf(one.id), chosen),
          take,
        })
      : null,
  );
  const lines = entries
    .filter((entry) => entry.curve?.length)
    .map((entry) => ({
      name: shortSpec(entry.spec),
      key: letter(specOf(entry.id)),
      colour: colour(specOf(entry.id)),
      points: entry.curve,
    }));
  refill(
    places.little,
    lines.length
      ? part(
          say("candidates.little"),
          make("p", { class: "lead" }, say("candidates.little.lead")),
          curve(lines, { says: say("candidates.little.says", { n: lines.length }), items: say("curve.items") }),
        )
      : null,
  );
}

/** Those that have no place in the picture, since one of the two was not measured. */
function unplaced(choose) {
  const others = entries.filter((one) => !(one.found && one.lift));
  if (!others.length) return null;
  return make(
    "p",
    { class: "row" },
    say("candidates.unplaced", { n: count(others.length) }),
    ...others.map((one) => action(shortSpec(one.spec), () => choose(one.id), { "data-key": one.id })),
  );
}
