/** Who receives it: that sets what an attacker is taken to know, and how much risk is acceptable. */

import { make } from "/shared/dom.js";
import { cards, field, part } from "../pieces.js";
import { ask } from "../server.js";
import { change, choices } from "../state.js";
import { known, often, say } from "../words.js";

export async function show(root) {
  const all = await ask("GET", "/api/recipients");
  const { name } = choices().recipient;
  const options = all.map((one) => ({
    value: one.name,
    title: known(`recipient.${one.name}.title`, one.title).text,
    about: known(`recipient.${one.name}.about`, one.about).text,
    more: limits(one),
  }));
  root.append(
    cards("recipient.name", say("recipient.legend"), options, name, (chosen) =>
      change({ recipient: { name: chosen } }),
    ),
    part(
      say("recipient.why"),
      make("p", { class: "lead" }, say("recipient.why.lead")),
      text("purpose"),
      text("contract"),
    ),
  );
}

/** What they know, and what is accepted, as people count. */
function limits(one) {
  const lines = [
    say(one.known_ratings ? "recipient.knows_ratings" : "recipient.knows", { n: one.known_items }),
    say("recipient.most_found", { often: often(one.most_found) }),
    say("recipient.most_recognised", { often: often(one.most_recognised) }),
    say(one.needs_promise ? "recipient.needs_promise" : "recipient.no_promise", { epsilon: String(one.most_epsilon) }),
  ];
  return make("span", { class: "limits" }, ...lines.map((line) => make("span", {}, line)));
}

function text(key) {
  const input = make("textarea", {
    rows: 2,
    maxlength: 2000,
    onchange: () => change({ recipient: { [key]: input.value.trim() } }),
  });
  input.value = choices().recipient[key];
  return field(`recipient.${key}`, say(`recipient.${key}`), input, say(`recipient.${key}.hint`));
}
