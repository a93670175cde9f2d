/** What epsilon bounds, as people count: of a hundred guesses about one person, how many may be right, at most. */

import { make } from "/shared/dom.js";
import { known, say } from "./words.js";

const [SIDE, STEP] = [10, 15];

/** Of 100 guesses that were even before, how many may be right afterwards: e^epsilon to 1, rounded against us. */
export const rightGuesses = (epsilon) =>
  Math.min(100, Math.ceil((100 * Math.exp(epsilon)) / (1 + Math.exp(epsilon)) - 1e-9));

function field(right, says, before) {
  const dots = Array.from({ length: SIDE * SIDE }, (_, k) => {
    const kind = k < Math.min(before, right) ? "right" : k < right ? "more" : "wrong";
    return make("circle", {
      class: kind,
      cx: STEP * ((k % SIDE) + 0.5),
      cy: STEP * (Math.floor(k / SIDE) + 0.5),
      r: 5.2,
    });
  });
  return make(
    "svg",
    { class: "dots", viewBox: `0 0 ${SIDE * STEP} ${SIDE * STEP}`, role: "img", "aria-label": says },
    ...dots,
  );
}

/** Two fields of a hundred dots beside each other; without a promise the second may be full. */
export function odds(epsilon, unit = "user") {
  const about = known(`odds.about.${unit}`, unit).text;
  const after = epsilon == null ? 100 : rightGuesses(epsilon);
  const panel = (title, right, text) =>
    make("div", { class: "hundred" }, make("p", { class: "when" }, title), field(right, text, 50), make("p", {}, text));
  return make(
    "figure",
    { class: "odds" },
    panel(say("odds.before"), 50, say("odds.even", { about })),
    panel(
      say("odds.after"),
      after,
      epsilon == null ? say("odds.unbounded") : say("odds.bounded", { right: after, about }),
    ),
    make("figcaption", {}, say(epsilon == null ? "odds.caption_none" : "odds.caption")),
  );
}
