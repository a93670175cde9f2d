/** Where no candidate is good enough: which wish could give way, with a button for each. */

import { make } from "/shared/dom.js";
import { part } from "./pieces.js";
import { shortSpec } from "./specs.js";
import { change, choices, work } from "./state.js";
import { count, known, percent, say } from "./words.js";

export function advice(found) {
  if (!found?.length) return null;
  return part(
    say("advice.title"),
    make("p", { class: "lead" }, say("advice.lead")),
    make("ul", { class: "advice" }, ...found.map((one) => make("li", {}, ...line(one)))),
  );
}

function line(one) {
  const values = {
    share: percent(one.share ?? 0),
    who: known(`recipient.${one.recipient}.title`, one.recipient ?? "").text,
    spec: shortSpec(one.spec ?? ""),
    people: one.people ? count(one.people) : "",
  };
  const name = one.kind === "people" && one.people ? "people_needed" : one.kind;
  const says = make("p", {}, say(`advice.${name}`, values));
  if (one.kind === "people") return [says, make("p", { class: "row" }, make("a", { class: "button", href: "/start" }, say("advice.people.do")))];
  if (one.asks) return [says, items()];
  return [says, button(one, () => follow(one))];
}

const button = (one, onclick) =>
  make("p", { class: "row" }, make("button", { type: "button", "data-key": `advice-${one.kind}`, onclick }, say(`advice.${one.kind}.do`)));

/** The wish gives way; where that asks for other trials, they run. */
async function follow(one) {
  const { specs } = choices().candidates;
  const wanted = one.spec ? { candidates: { specs: specs.includes(one.spec) ? specs : [...specs, one.spec] } } : one.changes;
  if (!(await change(wanted))) return;
  if (one.changes.data) await work("overview");
  if (one.run) await work("candidates");
  if (one.kind === "recipient" || one.kind === "use") location.reload();
}

/** A file of items that is public: its owner says so by using it. */
function items() {
  const input = make("input", { type: "text", spellcheck: "false", autocomplete: "off", placeholder: "/home/me/items.csv", id: "public-items", "data-field": "data.items" });
  const use = async (event) => {
    event.preventDefault();
    if (!input.value.trim()) return;
    await follow({ kind: "items", run: true, changes: { data: { items: input.value.trim() }, release: { catalogue_is_public: true } } });
  };
  return make(
    "form",
    { class: "field", onsubmit: use },
    make("label", { for: "public-items" }, say("advice.items.path")),
    input,
    make("p", { class: "row" }, make("button", {}, say("advice.items.do"))),
  );
}
