/** All pre-clicks of the catalogue in one picture, and what everybody would gain by a strategy. */

import { effect, inDoubt } from "./advice.js";
import { short } from "./chart.js";
import { make } from "./dom.js";
import { alone, everybody, turned } from "./game.js";
import { allPicture } from "./picture.js";
import { ZONE_NAMES, number, say } from "./words.js";

const INVENTED = 60; // accounts: an hour's worth from one address, by default
const MOST = 2000; // items with the most clicks
const ZONES = ["safe", "trade_off", "dangerous", "deleterious"];

/** Pre-clicks with this sign on items that show counts. */
function preclicks(profiles, { people, blur }, sign) {
  return profiles.map((profile) => {
    const [a, b] = sign > 0 ? profile : [...profile].reverse();
    const n = Math.max(people, a + b + 1);
    return { a, b, n, zone: effect(...profile, n, sign).zone, doubt: inDoubt(a, b, people, blur) };
  });
}

const cells = (kind, ...texts) => texts.map((text, k) => make(k ? kind : "th", k ? {} : { scope: "row" }, text));

/** Fill a section: two pictures with their numbers, and the table of strategies. */
export function showAll(section, table) {
  const shown = [...table.profiles.values()].filter(Boolean).sort((x, y) => y[0] + y[1] - x[0] - x[1]).slice(0, MOST);
  if (!shown.length) return section.replaceChildren(make("p", { class: "small" }, say("all.none")));
  const figures = [1, -1].map((sign) => {
    const all = preclicks(shown, table, sign);
    const verb = sign > 0 ? "like" : "dislike";
    const counts = ZONES.map((zone) => say("all.zone", { zone: ZONE_NAMES[zone], n: all.filter((one) => one.zone === zone).length }));
    const near = say("all.near", { n: all.filter(({ doubt }) => doubt).length, all: all.length });
    const caption = make("figcaption", {}, make("b", {}, say(`all.${verb}`)), ` ${counts.join(", ")}. ${near}`);
    return make("figure", {}, allPicture(all, `${say(`all.${verb}`)} ${counts.join(", ")}`), caption);
  });
  const people = shown.reduce((most, [a, b]) => Math.max(most, a + b + 1), table.people);
  const rows = ["basic", "careful", "smart"].map((name) => {
    const { clicks, commonality, disclosure } = everybody(shown, people, name);
    return make("tr", {}, ...cells("td", say(`strategy.${name}`), short(clicks, 5), short(commonality, 1), short(disclosure, 50)));
  });
  const head = ["all.if", "all.clicks", "commonality", "disclosure.bits"].map((name) => make("th", { scope: "col" }, say(name)));
  const { states, better } = alone(shown, people);
  const share = number(100 * turned(shown, people, INVENTED), 0);
  return section.replaceChildren(
    make("div", { class: "pictures" }, ...figures),
    make("p", {}, say("all.everybody")),
    make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
    make("p", { class: "small" }, say(better ? "all.gains" : "all.equilibrium", { states, better })),
    make("p", { class: "small" }, say("all.invented", { accounts: INVENTED, share })),
  );
}
