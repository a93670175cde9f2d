/**
 * Everybody's clicks on this catalogue: what becomes of items when all play a strategy, and whether one alone would do
 * better. The same game as `recveil.clicks.game`, on the public counts.
 */

import { STRATEGIES, effect, mainstream } from "./advice.js";

/** An item's counts after its clicks came in turn, likes and dislikes evenly mixed, each met by a strategy. */
export function played(likes, dislikes, people, strategy) {
  let [a, b, given] = [0, 0, 0];
  const all = likes + dislikes;
  for (let k = 1; k <= all && a + b < people; k++) {
    const sign = Math.floor((k * likes) / all + 0.5) > given ? 1 : -1; // what most say comes first
    if (sign > 0) given++;
    const action = STRATEGIES[strategy][effect(a, b, people, sign).zone];
    if (action === "cancel") continue;
    if ((sign > 0) === (action === "confirm")) a++;
    else b++;
  }
  return [a, b];
}

const share = (n, people) => (n > 0 ? n * Math.log2(people / n) : 0);

/** What all clicks on items make of a person on average, if everybody plays the strategy: {clicks, commonality, disclosure}. */
export function everybody(profiles, people, strategy) {
  const told = { clicks: 0, commonality: 0, disclosure: 0 };
  for (const [likes, dislikes] of profiles) {
    const [a, b] = played(likes, dislikes, people, strategy);
    told.clicks += a + b;
    told.commonality += mainstream(a, b, people) * (a - b);
    told.disclosure += share(a, people) + share(b, people) + share(people - a - b, people);
  }
  for (const name of Object.keys(told)) told[name] /= people;
  return told;
}

/** Of the states in which items stand when all play smart, how many there are, and in how many one alone gains by another action. */
export function alone(profiles, people) {
  let [states, better] = [0, 0];
  for (const [likes, dislikes] of profiles) {
    const [a, b] = played(likes, dislikes, people, "smart");
    for (const sign of a + b < people ? [1, -1] : []) {
      const would = effect(a, b, people, sign);
      const pays = {
        cancel: 0,
        confirm: Math.max(would.commonality, -would.disclosure),
        change: Math.max(-Math.abs(would.commonality), -would.reverse),
      };
      states += 1;
      better += Math.max(...Object.values(pays)) > pays[STRATEGIES.smart[would.zone]] ? 1 : 0;
    }
  }
  return { states, better };
}

/** Which share of likes has another zone when so many invented accounts dislike everything. */
export function turned(profiles, people, accounts) {
  let [likes, moved] = [0, 0];
  for (const [a, b] of profiles) {
    const zones = a > 0 ? [0, accounts].map((more) => effect(a - 1, b + more, people + more, 1).zone) : ["", ""];
    likes += a;
    moved += zones[0] === zones[1] ? 0 : a;
  }
  return likes ? moved / likes : 0;
}
