/** What the public counts give away, in words; the budget stands beside what it is for. */

import { make } from "./dom.js";
import { count } from "./words.js";

const EXACT =
  "The public counts of this server are exact: it is meant for a closed group. Whoever makes a few accounts, or knows " +
  "who else clicked, can read from them what you clicked, like or dislike, within one publication.";

/** Odds of exp(epsilon), as a word that is easy to say. */
const odds = (epsilon) => (Math.exp(epsilon) < 10 ? Math.exp(epsilon).toFixed(1) : count(Math.round(Math.exp(epsilon))));

function noisy({ epsilon, delta, looks, changes }, { deviation }) {
  return (
    "The public counts are blurred with noise. Whoever reads them, today and in all years, learns almost the same " +
    `whether or not you clicked on an item: no guess about it becomes more than ${odds(epsilon)} times as likely ` +
    `(epsilon ${epsilon}, delta ${delta}, for one person and one item). A person with many clicks is protected less. ` +
    `Counts are shown anew ${count(looks)} times a year and are off by about ${deviation.toFixed(0)}. ` +
    `At most ${changes} changes of your mind about an item reach them.`
  );
}

const NEIGHBOURS =
  "Recommendations come from the exact clicks of people near to you: it is meant for a closed group. Whoever makes " +
  "accounts that resemble you can learn from their lists what you like.";

function learned({ epsilon, delta, refreshes }) {
  return (
    "Recommendations come from a model of items that is made with noise and sent to everybody; your list is computed " +
    "on this device. Whoever studies the models of a year learns almost the same whether or not you are here at all: " +
    `no guess about you becomes more than ${odds(epsilon)} times as likely (epsilon ${epsilon}, delta ${delta}, for one ` +
    `person with all that she clicked, in any 365 days; ${refreshes} models a year).`
  );
}

export function showPromise(place, { counters, budget, blur }, model) {
  if (!counters) return;
  const counts = counters === "private" && budget ? noisy(budget, blur) : EXACT;
  const lists = model.recommend === "neighbours" ? NEIGHBOURS : model.budget ? learned(model.budget) : "";
  if (place.textContent !== counts + lists) place.replaceChildren(make("p", {}, counts), make("p", {}, lists));
}
