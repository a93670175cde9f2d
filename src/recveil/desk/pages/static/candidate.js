/** The card of one candidate: what it promises, what an attacker finds, what it keeps, who pays. */

import { make } from "/shared/dom.js";
import { losses } from "./losses.js";
import { odds } from "./odds.js";
import { action, meter, own, told, written } from "./pieces.js";
import { count, known, often, say } from "./words.js";

const EXPERIMENT = "Experiment, not for publication. "; // trials are seeded; the release that is made of them is not

/** How many are found, beside as many strangers: what counts is what lies between them. */
function foundSays({ value, control, gain }, limit) {
  const said = { often: often(value), strangers: gain && often(control), limit: often(limit) };
  return say(gain ? "card.found.over" : "card.found.says", said);
}

export function candidateCard(one, { key, colour, limits, chosen, take }) {
  const promise = one.guarantee;
  const proved = promise.status === "proved" || promise.status === "experiment";
  return make(
    "article",
    { class: `panel card-of ${colour}${chosen ? " chosen" : ""}` },
    make(
      "h3",
      { tabindex: -1 },
      make("span", { class: `key ${colour}` }, key),
      " ",
      known(`mechanism.${one.spec.split(":")[0]}`, one.short ?? one.spec).text,
      make("small", {}, ...written(one.spec)),
    ),
    meter(
      say("card.found", { known: one.known ?? limits.known }),
      one.found,
      one.found && foundSays(one.found, limits.found),
      { limit: limits.found + (one.found?.gain ? one.found.control : 0), colour: "s0" },
    ),
    meter(say("card.kept"), one.lift, one.lift && say("card.kept.says"), { limit: limits.kept, colour: "s2" }),
    one.membership
      ? meter(say("card.member"), one.membership, say("card.member.says", { often: often(one.membership.value) }), {
          limit: limits.member,
          colour: "s5",
        })
      : null,
    make("h4", {}, say(proved ? "card.promise" : "card.no_promise")),
    proved ? odds(promise.epsilon, promise.unit) : make("p", {}, say(`card.status.${promise.status}`)),
    own("p", promise.sentence.replace(EXPERIMENT, ""), { class: "small" }),
    one.damage?.length ? make("h4", {}, say("card.losses")) : null,
    one.damage?.length ? losses(one.damage) : null,
    make(
      "p",
      { class: "small" },
      say("card.sizes", {
        rows: count(one.rows),
        people: count(one.users),
        items: count(one.items),
        of: count(one.items_of),
      }),
    ),
    make(
      "details",
      {},
      make("summary", {}, say("card.more")),
      ...told([one.done, one.sentence, ...(one.lost ?? []), ...(one.skipped ?? [])].filter(Boolean)),
    ),
    make(
      "p",
      { class: "row" },
      chosen
        ? make("b", { class: "taken" }, say("card.taken"))
        : one.elsewhere
          ? make("span", { class: "small" }, say("card.elsewhere"))
          : action(say("card.take"), take, { class: "main", id: "take", "data-key": "take" }),
    ),
  );
}
