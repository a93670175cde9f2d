/** Who receives it: that sets what an attacker is taken to know, and how much risk is acceptable. */

import { make } from "/shared/dom.js";
import { cards, field, part } from "../pieces.js";
import { ask } from "../server.js";
import { change, choices } from "../state.js";
import { known, often, say } from "../words.js";

const LICENCES = ["CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "ODbL-1.0"];

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
      make(
        "details",
        {},
        make("summary", {}, say("recipient.more")),
        ...["legal_basis", "necessity", "retention", "controls", "trust_model"].map((key) => text(key)),
        reviewDay(),
      ),
    ),
    part(say("recipient.published"), text("title", "named"), text("controller"), text("contact"), licence()),
    changedLimits(all),
  );
}

/** The day on which somebody looks again; it is published with the approval. */
function reviewDay() {
  const input = make("input", { type: "date", max: "9999-12-31", onchange: () => change({ recipient: { review: input.value } }) });
  input.value = choices().recipient.review;
  return field("recipient.review", say("recipient.review"), input, say("recipient.review.hint"));
}

/** Limits are the house's own: each may be another, with a reason that stands on the sheet. */
function changedLimits(all) {
  const usual = all.find((one) => one.name === choices().recipient.name) ?? all[0];
  const rows = ["most_found", "most_membership", "most_recognised", "most_gained", "most_epsilon"].map((key) => {
    const [value, ...reason] = (choices().recipient.limits[key] ?? "").split(":");
    const number = make("input", { type: "text", inputmode: "decimal", placeholder: String(usual[key]) });
    const why = make("input", { type: "text", maxlength: 300 });
    const bare = make("p", { class: "problem", role: "status", hidden: true }, say("recipient.limit.why"));
    number.value = value.trim();
    why.value = reason.join(":").trim();
    const keep = () => {
      const limits = { ...choices().recipient.limits };
      const [given, reason] = [number.value.trim().replace(",", "."), why.value.trim()];
      if (given && reason) limits[key] = `${given}: ${reason}`;
      else delete limits[key];
      bare.hidden = !given || Boolean(reason); // a number alone changes nothing
      change({ recipient: { limits } });
    };
    number.addEventListener("change", keep);
    why.addEventListener("change", keep);
    const reasoned = field(`recipient.reason.${key}`, say("recipient.limit.reason"), why);
    reasoned.append(bare);
    return make("div", { class: "pair" }, field(`recipient.limits.${key}`, say(`recipient.limit.${key}`), number), reasoned);
  });
  return make(
    "details",
    { "data-field": "recipient.limits" },
    make("summary", {}, say("recipient.limits")),
    make("p", {}, say("recipient.limits.lead")),
    ...rows,
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

/** It is part of what is released, so it stands before the bundle is made. */
function licence() {
  const input = make("input", { type: "text", maxlength: 200, list: "licences", onchange: () => change({ release: { licence: input.value.trim() } }) });
  input.value = choices().release.licence;
  const made = field("release.licence", say("recipient.licence"), input, say("recipient.licence.hint"));
  made.append(make("datalist", { id: "licences" }, ...LICENCES.map((value) => make("option", { value }))));
  return made;
}

function text(key, name = key) {
  const input = make("textarea", {
    rows: 2,
    maxlength: 2000,
    onchange: () => change({ recipient: { [key]: input.value.trim() } }),
  });
  input.value = choices().recipient[key];
  return field(`recipient.${key}`, say(`recipient.${name}`), input, say(`recipient.${name}.hint`));
}
