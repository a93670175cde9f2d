/** How exposed: one sentence, the curve, and the people who stand out most, by number and not by name. */

import { make } from "/shared/dom.js";
import { curve } from "../curve.js";
import { hear } from "../notices.js";
import { action, jobList, part, refill, told } from "../pieces.js";
import { ask } from "../server.js";
import { busy, jobs, now, onResult, watch, work } from "../state.js";
import { count, often, percent, say } from "../words.js";

export function show(root) {
  const place = make("div");
  const working = make("ul", { class: "jobs" });
  root.append(working, place);
  watch(() => jobList(working, jobs("exposure-first", "exposure"), (one) => say(`exposure.${one.kind}`)));
  onResult("exposure", (found) => refill(place, ...(found ? exposed(found) : [])));
  if (!busy("exposure-first", "exposure").length && now().steps.exposure.state !== "failed") work("exposure");
}

function exposed(found) {
  const { headline } = found;
  const says = say("exposure.headline", { known: headline.known, share: percent(headline.value) });
  hear(says, true);
  const points = found.curve;
  const strangers = points
    .filter((p) => p.control != null)
    .map((p) => ({ known: p.known, value: p.control, low: p.control, high: p.control }));
  const lines = [
    { name: say("exposure.here"), colour: "s0", points },
    { name: say("exposure.rated"), colour: "s3", points: found.curve_rated ?? [] },
    { name: say("exposure.strangers"), key: "", colour: "s7", dashed: true, points: strangers },
  ];
  return [
    make("p", { class: "verdict" }, says),
    make(
      "p",
      { class: "lead" },
      say("exposure.meaning", {
        often: often(headline.value),
        low: percent(headline.low),
        high: percent(headline.high),
      }),
    ),
    found.headline_rated
      ? make("p", { class: "lead" }, say("exposure.headline_rated", { share: percent(found.headline_rated.value) }))
      : null,
    found.stage === "first" ? make("p", { class: "banner", role: "note" }, say("exposure.first")) : null,
    part(
      say("exposure.curve"),
      make("p", { class: "lead" }, say("exposure.curve.lead")),
      curve(lines, {
        says: `${says} ${say("exposure.curve.says")}`,
        items: say("curve.items"),
        marked: headline.known,
      }),
    ),
    found.stage === "first" ? null : riskiest(found),
    found.warnings.length
      ? part(say("exposure.warnings"), make("ul", { class: "bullets" }, ...told(found.warnings, "li")))
      : null,
  ];
}

function riskiest(found) {
  const people = found.riskiest_users;
  const list = make("ol", { class: "riskiest" });
  const entry = (one) =>
    make(
      "li",
      {},
      make("b", {}, say("exposure.number", { number: String(one.ordinal) })),
      one.row != null && make("span", {}, say("exposure.row", { row: count(one.row) })),
      make("span", {}, say("exposure.found_often", { often: often(one.success) })),
    );
  list.append(...people.map(entry));
  const names = async () =>
    list.replaceChildren(...(await ask("GET", "/api/exposure?names=1")).riskiest_users.map(entry));
  const rare = say("exposure.rare", { n: found.items_of_one_person, items: count(found.items ?? 0) });
  return part(
    say("exposure.riskiest"),
    people.length
      ? make("p", { class: "lead" }, say("exposure.riskiest.lead", { known: people[0].known }))
      : make("p", { class: "lead" }, say("exposure.riskiest.none")),
    list,
    people.length ? make("p", { class: "row" }, action(say("exposure.names"), names)) : null,
    people.length ? make("p", { class: "small" }, say("exposure.names.hint")) : null,
    found.items_of_one_person ? make("p", {}, rare) : null,
  );
}
