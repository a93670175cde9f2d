/** The card of one candidate: what it promises, what an attacker finds, what it keeps, who pays. */

import { make } from "/shared/dom.js";
import { losses } from "./losses.js";
import { odds } from "./odds.js";
import { action, meter, told } from "./pieces.js";
import { count, engine, known, often, t } from "./words.js";

export function candidateCard(one, { key, colour, limits, chosen, take }) {
  const promise = one.guarantee;
  const proved = promise.status === "proved" || promise.status === "experiment";
  return make(
    "article",
    { class: `panel card-of ${colour}${chosen ? " chosen" : ""}` },
    make("h3", { tabindex: -1 }, make("span", { class: `key ${colour}` }, key), " ", known(`mechanism.${one.spec.split(":")[0]}`, one.short ?? one.spec).text, make("small", {}, one.spec)),
    meter(t("card.found", { known: limits.known }), one.found, one.found && t("card.found.says", { often: often(one.found.value), limit: often(limits.found) }), { limit: limits.found, colour: "s0" }),
    meter(t("card.kept"), one.lift, one.lift && t("card.kept.says"), { limit: limits.kept, colour: "s2" }),
    one.membership ? meter(t("card.member"), one.membership, t("card.member.says", { often: often(one.membership.value) }), { colour: "s5" }) : null,
    make("h4", {}, t(proved ? "card.promise" : "card.no_promise")),
    proved ? odds(promise.epsilon) : make("p", {}, t(`card.status.${promise.status}`)),
    make("p", { class: "small", ...engine }, promise.sentence),
    one.damage?.length ? make("h4", {}, t("card.losses")) : null,
    one.damage?.length ? losses(one.damage) : null,
    make("p", { class: "small" }, t("card.sizes", { rows: count(one.rows), people: count(one.users), items: count(one.items), of: count(one.items_of) })),
    make("details", {}, make("summary", {}, t("card.more")), ...told([one.done, one.sentence, ...(one.lost ?? []), ...(one.left_out ?? [])].filter(Boolean))),
    make("p", { class: "row" }, chosen ? make("b", { class: "taken" }, t("card.taken")) : one.elsewhere ? make("span", { class: "small" }, t("card.elsewhere")) : action(t("card.take"), take, { class: "main", id: "take", "data-key": "take" })),
  );
}
