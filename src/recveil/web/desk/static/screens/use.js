/** What must still work: the use and how much of it; the settings that keep it are then solved for, and told in words. */

import { make } from "/shared/dom.js";
import { odds } from "../odds.js";
import { action, cards, field, jobList, part, refill, told } from "../pieces.js";
import { strengths } from "../strengths.js";
import { busy, change, choices, jobs, onResult, watch, work } from "../state.js";
import { engine, known, percent, shortSpec, say } from "../words.js";

const WHERE = ["twin", "sample", "data"];

export function show(root) {
  const wishes = make("div");
  const working = make("ul", { class: "jobs" });
  const solved = make("div", { "aria-live": "polite" });
  const solve = action(say("use.solve"), () => work("solve"), { class: "main", id: "solve" });
  root.append(wishes, make("p", { class: "row" }, solve), make("p", { class: "small" }, say("use.solve.hint")), working, solved);
  watch(() => {
    solve.disabled = busy("solve").length > 0;
    jobList(working, jobs("solve"), (one) => say("use.solving", { what: one.title }));
  });
  onResult("overview", (overview) => overview && refill(wishes, ...wanted(overview)));
  onResult("solve", (found) => refill(solved, ...(found ? answers(found) : [])));
}

function wanted(overview) {
  const { use } = choices();
  const uses = overview.uses.map(({ what, possible, why }) => ({ value: what, title: say(`use.${what}`), about: say(`use.${what}.about`), why: possible ? "" : why }));
  const places = WHERE.map((value) => ({ value, title: say(`use.on.${value}`), about: say(`use.on.${value}.about`) }));
  const size = make("div", { class: "pair", id: "twin-size", hidden: use.on !== "twin" }, number("people", use.people), number("items", use.items));
  const move = (on) => {
    size.hidden = on !== "twin";
    change({ use: { on } });
  };
  return [
    cards("use.what", say("use.legend"), uses, use.what, (what) => change({ use: { what } })),
    part(say("use.how_much"), slider(use.keep)),
    part(say("use.on"), make("p", { class: "lead" }, say("use.on.lead")), cards("use.on", say("use.on.legend"), places, use.on, move), size),
  ];
}

function slider(keep) {
  const shown = make("output", { for: "field-use-keep" });
  const says = (value) => {
    shown.textContent = say("use.keep.says", { share: percent(value) });
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  const input = make("input", { type: "range", min: 0.3, max: 0.95, step: 0.05, oninput: () => says(Number(input.value)), onchange: () => change({ use: { keep: Number(input.value) } }) });
  input.value = keep;
  const made = field("use.keep", say("use.keep"), input);
  made.append(shown);
  says(keep);
  return made;
}

function number(key, value) {
  const input = make("input", { type: "number", min: 0, step: 1, inputmode: "numeric", value, onchange: () => change({ use: { [key]: Number(input.value) } }) });
  return field(`use.${key}`, say(`use.${key}`), input, say(`use.${key}.hint`));
}

function answers(found) {
  const cardsFound = found.found.map((one) => answer(one));
  const failed = found.failed.map((one) => make("li", {}, make("b", {}, one.mechanism), " ", make("span", engine, one.line)));
  return [
    part(say("use.found"), ...(cardsFound.length ? cardsFound : [make("p", {}, say("use.nothing"))])),
    failed.length ? part(say("use.failed"), make("ul", { class: "bullets" }, ...failed)) : null,
    found.outside_proof ? make("p", { class: "banner", role: "note", ...engine }, found.outside_proof) : null,
  ];
}

function answer(one) {
  const epsilon = /epsilon=([\d.e-]+)/.exec(one.spec);
  const add = async () => {
    const { specs } = choices().candidates;
    if (await change({ candidates: { specs: specs.includes(one.spec) ? specs : [...specs, one.spec] } })) place.textContent = say("use.added");
  };
  const place = make("span", { class: "small", role: "status" }, choices().candidates.specs.includes(one.spec) ? say("use.added") : "");
  return make(
    "article",
    { class: "panel" },
    make("h3", {}, known(`mechanism.${one.mechanism}`, one.mechanism).text, make("small", {}, shortSpec(one.spec))),
    make("p", { class: "big", ...engine }, one.words),
    one.curve?.length ? strengths(one) : null,
    epsilon ? odds(Number(epsilon[1])) : null,
    make("details", {}, make("summary", {}, say("use.lines")), ...told(one.lines ?? []), make("p", { class: "small", ...engine }, one.measured_on ?? "")),
    make("p", { class: "row" }, action(say("use.add"), add), place),
  );
}
