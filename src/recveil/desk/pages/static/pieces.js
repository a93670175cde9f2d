/** Pieces that several screens are made of: cards to choose from, bars with their limit, work and its progress. */

import { make } from "/shared/dom.js";
import { refill } from "./fields.js";
import { own } from "./own.js";
import { hear } from "./notices.js";
import { cancel } from "./state.js";
import { duration, interval, known, percent, say, slug } from "./words.js";

export { field, part, refill } from "./fields.js";
export { own, told } from "./own.js";

/**
 * Cards of which one is chosen: options [{value, title, about, more, why}], where `why` says what stands against it.
 * The name is the dotted key of the choice.
 */
export function cards(field, legend, options, chosen, choose) {
  const card = ({ value, title, about, more, why }) =>
    make(
      "label",
      { class: "choice" },
      make("input", {
        type: "radio",
        name: field,
        value,
        checked: value === chosen,
        disabled: Boolean(why),
        onchange: () => choose(value),
      }),
      make(
        "span",
        { class: "inside" },
        make("b", {}, title),
        about && make("span", { class: "about" }, about),
        more,
        why && because(why),
      ),
    );
  return make(
    "fieldset",
    { class: "choices field", "data-field": field },
    make("legend", {}, legend),
    make("div", { class: "cards" }, ...options.map(card)),
  );
}

function because(why) {
  const { text, lang } = known(`why.${slug(why)}`, why);
  return make("span", { class: "why", lang }, text);
}

/** A bar from 0 to `most` with its interval, a mark for the limit and a hollow one for strangers. */
export function bar(m, { limit = null, colour = "s1", most = 1 } = {}) {
  const at = (value) => 100 * Math.min(Math.max(value / most, 0), 1);
  const part = (kind, from, to) => {
    const piece = make("i", { class: kind });
    piece.style.left = `${at(from)}%`;
    piece.style.width = `${at(to) - at(from)}%`;
    return piece;
  };
  return make(
    "span",
    { class: `bar ${colour}`, "aria-hidden": "true" },
    part("value", 0, m.value),
    part("between", m.low, m.high),
    m.control != null && part("control", m.control, m.control),
    limit != null && part("limit", limit, limit),
  );
}

/** A name, its value with interval, and the bar; `says` below. */
export function meter(name, m, says, options) {
  if (!m)
    return make(
      "div",
      { class: "meter" },
      make("span", {}, name),
      make("span", { class: "amount none" }, say("not_measured")),
    );
  return make(
    "div",
    { class: "meter" },
    make("span", {}, name),
    make("span", { class: "amount" }, make("b", {}, percent(m.value)), " ", make("small", {}, interval(m))),
    bar(m, options),
    says && make("span", { class: "says" }, says),
  );
}

/** One job: what is done, how long it may still take, a way to stop it, why it failed. */
export function job(one, title = one.title, more = null) {
  const running = one.state === "queued" || one.state === "running";
  const share = one.of ? one.done / one.of : null;
  const left = one.left != null ? say("work.left", { time: duration(one.left) }) : "";
  const state =
    one.state === "running"
      ? [share == null ? say("work.running") : percent(share), left].filter(Boolean).join(", ")
      : say(`work.${one.state}`);
  return make(
    "li",
    { class: `job ${one.state}`, "data-id": one.id },
    make("span", { class: "title" }, title),
    make("span", { class: "state" }, state),
    running &&
      make("progress", {
        max: 1,
        value: one.state === "queued" ? 0 : share,
        "aria-label": typeof title === "string" ? title : one.title,
      }),
    one.line && own("p", one.line, { class: "line" }),
    running &&
      make(
        "button",
        { type: "button", class: "small-button", "data-key": `cancel-${one.id}`, onclick: () => cancel(one.id) },
        say("work.cancel"),
        make("span", { class: "unseen" }, ` ${one.title}`),
      ),
    more,
  );
}

/** The jobs of a screen as a list, said aloud as they end. */
export function jobList(place, found, title = (one) => one.title) {
  const shown = found.filter((one) => one.state !== "done");
  refill(place, ...shown.map((one) => job(one, title(one))));
  const running = shown.filter((one) => one.state === "running");
  if (running.length)
    hear(say("work.heard", { done: found.length - shown.length, of: found.length, what: title(running[0]) }));
  else if (found.length && !shown.length) hear(say("work.all_done"), true);
}

export const action = (text, onclick, options = {}) => make("button", { type: "button", onclick, ...options }, text);

/** A spec that goes on in another line after a comma alone; the name of a file, which may be long, anywhere. */
export const written = (spec) =>
  spec.includes("=")
    ? spec.split(/(?<=,)/).flatMap((part, k) => [k ? make("wbr") : null, make("span", { class: "whole" }, part)])
    : [spec];
