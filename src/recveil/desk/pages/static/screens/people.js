/** Who is in it: people, items, rows, and who or what is to be protected, as a sentence to choose. */

import { make } from "/shared/dom.js";
import { cards, part, refill } from "../pieces.js";
import { change, choices, onResult, work } from "../state.js";
import { count, known, say } from "../words.js";

export function show(root) {
  const place = make("div");
  root.append(place);
  onResult("overview", (overview) => refill(place, ...(overview ? who(overview) : [make("p", {}, say("wait.data"))])));
}

/** Some units read other columns; the data are then looked at again. */
async function choose(overview, unit) {
  const { columns } = overview.units.find((one) => one.unit === unit);
  if ((await change({ protect: { unit }, ...(columns && { data: { columns } }) })) && columns) work("overview");
}

function who(overview) {
  const number = (value, name) =>
    make("div", {}, make("dt", {}, say(name)), make("dd", {}, make("b", {}, count(value))));
  const each = overview.rows / Math.max(overview.users, 1);
  const options = overview.units.map(({ unit, sentence, means, possible, why }) => ({
    value: unit,
    title: known(`unit.${unit}`, sentence).text,
    about: known(`unit.${unit}.means`, means).text,
    why: possible ? "" : why,
  }));
  return [
    make(
      "dl",
      { class: "facts" },
      number(overview.users, overview.unit === "session" ? "people.sessions" : "people.people"),
      number(overview.items, "people.items"),
      number(overview.rows, `people.rows.${overview.kind}`),
      overview.sessions && overview.unit !== "session" ? number(overview.sessions, "people.sessions") : null,
    ),
    make("p", { class: "lead" }, say("people.each", { number: count(Math.round(each)) })),
    part(
      say("people.protect"),
      make("p", { class: "lead" }, say("people.protect.lead")),
      cards("protect.unit", say("people.protect.legend"), options, choices().protect.unit, (unit) =>
        choose(overview, unit),
      ),
    ),
  ];
}
