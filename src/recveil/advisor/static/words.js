/** The effects of a pre-click in words. Sentences follow from counts and exact signs alone; their texts are messages. */

import { messages } from "./messages/messages.js";

export const { has, number, say } = await messages("advisor");

export const VERBS = { 1: "like", [-1]: "dislike" }; // as the API and events say them
export const ZONE_NAMES = Object.fromEntries(
  ["safe", "trade_off", "dangerous", "deleterious", "unknown"].map((zone) => [zone, say(`zone.${zone}`)]),
);

export const count = (n) => number(n);
export const people = (n) => say("people", { n });

/** An amount of information, never negative; a trace of it is said to be so. */
export function amount(value, base) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.05) return say(`amount.${base}.trace`);
  return say(`amount.${base}`, { n: size.toFixed(1) === "1.0" ? 1 : 2, size: number(size, 1) });
}

/** "You would be one of 12 people who dislike this; 430 like it." */
export function company(a, b, sign, about = false) {
  const [same, other] = [VERBS[sign], VERBS[-sign]];
  if (about) return say(`${same}.company`, { people: people(a + 1), others: b });
  const others = b === 0 ? say(`${other}.others.none`) : say(`${other}.others`, { n: b });
  const hers = a === 0 ? say(`${same}.hers.first`) : say(`${same}.hers.some`, { people: people(a + 1) });
  return say("company", { hers, others });
}

/** What a zone means, in one line. */
export function verdict([c, d, r]) {
  const gain = say(c > 0 ? "gain.up" : c < 0 ? "gain.down" : "gain.none");
  const privacy = d > 0 ? "costs" : d < 0 ? "hides" : "same";
  if (c > 0) return say(`verdict.up.${privacy}`, { gain });
  if (d < 0) return say("verdict.hides", { gain });
  return say(`verdict.${privacy}.${r < 0 ? "change" : "neither"}`, { gain });
}

/** Two lines: what the click does to her recommendations, and to her privacy. Each with its direction: 1 is good. */
export function lines(a, b, n, found, base) {
  const [c, d] = found.signs;
  const share = Math.round((100 * (a + 1)) / (a + b + 1));
  const gain =
    a + b === 0
      ? say("line.first")
      : c > 0
        ? say("line.up", { share })
        : c < 0
          ? say("line.down", { share })
          : say("line.even");
  const crowd = { before: people(n - a - b), after: a === 0 ? say("alone") : count(a + 1) };
  const cost = say(d > 0 ? "line.costs" : d < 0 ? "line.hides" : "line.same", {
    amount: amount(found.disclosure, base),
    ...crowd,
  });
  return [
    { name: say("line.recommendations"), good: c, text: gain },
    { name: say("line.privacy"), good: -d, text: cost },
  ];
}

/** What the opposite click would do instead. */
export function opposite(found, sign, base) {
  const r = found.signs[2];
  const effect = r < 0 ? "hides" : r > 0 ? "costs" : "same";
  return say(`${VERBS[-sign]}.instead.${effect}`, { amount: amount(found.reverse, base) });
}

export const unknown = (least) => say("unknown", { least });

/** How often advice like this is wrong: "about 2 in 100". */
export const errorsOf = (chance) =>
  chance < 0.001 ? say("errs.few") : say("errs", { share: number(100 * chance, chance < 0.01 ? 1 : 0) });
