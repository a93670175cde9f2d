/** What the app shows of her: numbers, their timeline, her clicks. Disclosure always stands beside their number. */

import { effect, inDoubt, timeline, without } from "./advice.js";
import { chart, short } from "./chart.js";
import { face, make } from "./dom.js";
import { hasAccount } from "./server.js";
import { ZONE_NAMES, say } from "./words.js";

const find = (id) => document.getElementById(id);
const SIGNS = { like: 1, dislike: -1 };

export function showPerson({ clicks, titles, table }) {
  const mine = clicks.map(({ item, sign }) => ({ item, sign: SIGNS[sign] }));
  const { profiles, people } = table.including(clicks);
  const told = timeline(mine, profiles, people, "2", table.others);
  const [first, now] = [told[0], told[told.length - 1]];
  const added = short(now.disclosure - first.disclosure, 5);
  const number = (name, value, unit, note) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), unit, note && make("small", {}, note)));
  find("numbers").replaceChildren(
    number(say("clicks"), String(clicks.length)),
    number(say("commonality"), short(now.commonality, 1)),
    number(say("disclosure"), short(now.disclosure), ` ${say("bits")}`, clicks.length > 0 && say("by_your_clicks", { added })),
  );
  find("charts").replaceChildren(...(clicks.length ? charts(told) : []));
  find("steps").replaceChildren(...told.map(step));
  find("steps").closest("details").hidden = !clicks.length;
  find("meaning").textContent = say(clicks.length ? "meaning" : "start");
  find("no-clicks").hidden = clicks.length > 0;
  find("no-account").hidden = hasAccount();
  find("mine").hidden = !hasAccount();
  const held = document.activeElement.dataset.undo; // the button that has the focus is made anew
  find("clicks").replaceChildren(...clicks.map((click, k) => row(click, mine[k], titles, profiles, people, table.blur)).reverse());
  if (held) [...find("clicks").querySelectorAll("button")].find(({ dataset }) => dataset.undo === held)?.focus();
}

function charts(told) {
  const one = (name, title) => make("figure", {}, make("figcaption", {}, title), chart(told, name));
  return [one("commonality", say("commonality")), one("disclosure", say("disclosure.bits"))];
}

function step({ clicks, commonality, disclosure }) {
  const cells = [String(clicks), short(commonality, 0.2), short(disclosure, 2)];
  return make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));
}

const unseen = (text) => make("span", { class: "unseen" }, text);

function row({ item, sign }, click, titles, profiles, people, blur) {
  const title = titles.get(item) ?? item;
  const profile = profiles.get(item);
  const before = profile && without(profile, click.sign);
  const zone = before ? effect(...before, people, click.sign).zone : "unknown"; // as if now
  const near = before && inDoubt(...(click.sign > 0 ? before : [...before].reverse()), people, blur);
  const name = near ? say("zone.near", { zone: ZONE_NAMES[zone] }) : ZONE_NAMES[zone];
  return make(
    "li",
    {},
    face(click.sign),
    make("span", { class: "what" }, unseen(say(`${sign}.you`)), title, make("small", { class: zone }, name)),
    make("button", { type: "button", class: "quiet", "data-undo": item }, say("undo"), unseen(` ${title}`)),
  );
}
