/** Who pays: how much less is found for people with few or many things, and among popular or rare things. */

import { make } from "/shared/dom.js";
import { bar } from "./pieces.js";
import { interval, known, percent, say } from "./words.js";

/** damage: [{group, value, low, high}]; value is what is lost in recall, so 0 is nothing. */
export function losses(damage) {
  const most = Math.max(0.05, ...damage.map((one) => one.high ?? one.value));
  const row = (one) => {
    const m = { low: one.value, high: one.value, ...one };
    const lost = Math.round(100 * m.value);
    const says =
      lost > 0 ? say("losses.fewer", { n: lost }) : lost < 0 ? say("losses.more", { n: -lost }) : say("losses.same");
    return make(
      "li",
      { class: "meter" },
      make("span", {}, known(`losses.${one.group.replaceAll(" ", "_")}`, one.group).text),
      make("span", { class: "amount" }, make("small", {}, `${percent(m.value)} ${interval(m)}`)),
      bar(m, { colour: one.group.includes("item") ? "s3" : "s4", most }),
      make("span", { class: "says" }, says),
    );
  };
  return make(
    "figure",
    { class: "losses" },
    make("ul", {}, ...damage.map(row)),
    make("figcaption", {}, say("losses.caption")),
  );
}
