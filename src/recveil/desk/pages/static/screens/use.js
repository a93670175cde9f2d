/** What must still work: the use and how much of it; the settings that keep it are solved for and told in words. */

import { make } from "/shared/dom.js";
import { hear } from "../notices.js";
import { odds } from "../odds.js";
import { action, cards, field, jobList, own, part, refill, told } from "../pieces.js";
import { kept, strengths, tries } from "../strengths.js";
import { parameterOf, shortSpec } from "../specs.js";
import { busy, change, choices, onResult, watch, work } from "../state.js";
import { known, percent, say } from "../words.js";

const WHERE = ["twin", "sample", "data"];
const PEOPLE = 10000; // of a twin, until somebody says another number

export function show(root) {
  const wishes = make("div");
  const working = make("ul", { class: "jobs" });
  const solved = make("div");
  const solve = action(say("use.solve"), begin, { class: "main", id: "solve" });
  const offer = make(
    "div",
    {},
    make("p", { class: "row" }, solve),
    make("p", { class: "small" }, say("use.solve.hint")),
  );
  let overview = null;
  root.append(wishes, offer, working, solved);
  const paint = () => {
    offer.hidden = !overview?.uses.find((one) => one.what === choices().use.what)?.possible;
    solve.disabled = busy("solve").length > 0;
    jobList(working, busy("solve"), (one) =>
      say("use.solving", { what: known(`mechanism.${one.title}`, one.title).text }),
    );
  };
  onResult("overview", (found) => {
    overview = found;
    if (found) refill(wishes, ...wanted(found));
    paint();
  });
  watch(paint);
  onResult("solve", (found) => {
    refill(solved, ...(found ? answers(found) : []));
    if (found && !busy("solve").length) hear(found.found.map(inWords).join(" ") || say("use.nothing"), true);
  });
}

/** A twin has as many people as the field says, also where nobody touched it. */
async function begin() {
  const { use } = choices();
  const size =
    use.on === "twin" && !use.people
      ? { use: { people: Number(document.getElementById("field-use-people").value) } }
      : null;
  if (!size || (await change(size))) work("solve");
}

function wanted(overview) {
  const { use } = choices();
  const uses = overview.uses.map(({ what, possible, why }) => ({
    value: what,
    title: say(`use.${what}`),
    about: say(`use.${what}.about`),
    why: possible ? "" : why,
  }));
  const places = WHERE.map((value) => ({ value, title: say(`use.on.${value}`), about: say(`use.on.${value}.about`) }));
  const size = make(
    "div",
    { class: "pair", id: "twin-size", hidden: use.on !== "twin" },
    number("people", use.people || (choices().data.source.startsWith("sample:") ? overview.users : PEOPLE)),
    number("items", use.items),
  );
  const move = (on) => {
    size.hidden = on !== "twin";
    change({ use: { on } });
  };
  return [
    cards("use.what", say("use.legend"), uses, use.what, (what) => change({ use: { what } })),
    part(say("use.how_much"), slider(use.keep)),
    part(
      say("use.on"),
      make("p", { class: "lead" }, say("use.on.lead")),
      cards("use.on", say("use.on.legend"), places, use.on, move),
      size,
    ),
  ];
}

function slider(keep) {
  const shown = make("output", { for: "field-use-keep" });
  const says = (value) => {
    shown.textContent = say("use.keep.says", { share: percent(value) });
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  const input = make("input", {
    type: "range",
    min: 0.3,
    max: 0.95,
    step: 0.05,
    oninput: () => says(Number(input.value)),
    onchange: () => change({ use: { keep: Number(input.value) } }),
  });
  input.value = keep;
  const made = field("use.keep", say("use.keep"), input);
  made.append(shown);
  says(keep);
  return made;
}

function number(key, value) {
  const input = make("input", {
    type: "number",
    min: 0,
    step: 1,
    inputmode: "numeric",
    value,
    onchange: () => change({ use: { [key]: Number(input.value) } }),
  });
  return field(`use.${key}`, say(`use.${key}`), input, say(`use.${key}.hint`));
}

function answers(found) {
  const cardsFound = found.found.map((one) => answer(one));
  const failed = found.failed.map((one) =>
    make("li", {}, make("b", {}, one.mechanism), " ", own("span", one.line)),
  );
  return [
    part(say("use.found"), ...(cardsFound.length ? cardsFound : [make("p", {}, say("use.nothing"))])),
    failed.length ? part(say("use.failed"), make("ul", { class: "bullets" }, ...failed)) : null,
    found.outside_proof ? own("p", found.outside_proof, { class: "banner", role: "note" }) : null,
  ];
}

/** Whether the tries are values of one parameter with what each keeps. */
const drawable = (one) => Boolean(one.value != null && one.curve?.some(kept));

/** "With epsilon 2.6, 70% is kept; with stronger protection (1) it would be 58%." */
function inWords(one) {
  if (!drawable(one)) return one.words;
  const held = tries(one).filter(kept);
  const { value } = one;
  const at = held.findIndex((point) => point.at === value);
  const found = kept(held[at]);
  const keeps = [
    say("use.keeps", { parameter: one.parameter, value: String(value), share: percent(found.value) }),
    held[at].skill?.chance == null ? "" : say("use.own_mean", { share: percent(found.chance) }),
  ]
    .filter(Boolean)
    .join(" ");
  const [next, first] = [held[at - 1], held.find((point) => point.at === 1)];
  const other = first && first.at !== value ? first : next;
  if (!other) return keeps;
  const than = held.indexOf(other) < at ? "use.stronger" : "use.weaker";
  return `${keeps} ${say(than, { value: String(other.at), share: percent(kept(other).value) })}`;
}

function answer(one) {
  const epsilon = parameterOf(one.spec, "epsilon");
  const add = async () => {
    const { specs } = choices().candidates;
    if (await change({ candidates: { specs: specs.includes(one.spec) ? specs : [...specs, one.spec] } }))
      place.textContent = say("use.added");
  };
  const place = make(
    "span",
    { class: "small", role: "status" },
    choices().candidates.specs.includes(one.spec) ? say("use.added") : "",
  );
  return make(
    "article",
    { class: "panel" },
    make("h3", {}, known(`mechanism.${one.mechanism}`, one.mechanism).text, make("small", {}, shortSpec(one.spec))),
    make("p", { class: "big" }, inWords(one)),
    drawable(one) && strengths(one),
    epsilon == null ? null : odds(epsilon, choices().protect.unit),
    make(
      "details",
      {},
      make("summary", {}, say("use.lines")),
      ...told(one.lines ?? []),
      own("p", one.measured_on ?? "", { class: "small" }),
    ),
    make("p", { class: "row" }, action(say("use.add"), add), place),
  );
}
