/** What the public counts give away, in words; the budget stands beside what it is for. */

import { make } from "./dom.js";
import { count, number, say } from "./words.js";

/** Odds of exp(epsilon), as a word that is easy to say. */
function odds(epsilon) {
  const value = Math.exp(epsilon);
  return value < 10 ? number(value, 1) : count(Math.round(value));
}

/** As they were set, digit by digit: numbers would be rounded. */
const bound = ({ epsilon, delta }) => ({ odds: odds(epsilon), epsilon: String(epsilon), delta: plain(delta) });

/** 0.000001 rather than 1e-6. */
const plain = (value) => (value >= 1e-15 ? value.toFixed(15).replace(/0+$/, "") : String(value));

export function showPromise(place, { counters, budget, total, overspent, blur }, model) {
  if (!counters) return;
  const counts =
    counters === "private" && budget
      ? say("promise.noisy", { ...budget, ...bound(budget), deviation: blur.deviation })
      : say("promise.exact");
  const lists =
    model.recommend === "neighbours"
      ? say("promise.neighbours")
      : model.budget
        ? say("promise.model", { ...model.budget, ...bound(model.budget) })
        : "";
  const both = total ? say("promise.total", bound(total)) : "";
  const before = overspent ? say("promise.overspent", { until: overspent }) : "";
  const said = [counts, lists, both, before].filter(Boolean);
  if (place.textContent !== said.join("")) place.replaceChildren(...said.map((words) => make("p", {}, words)));
}
