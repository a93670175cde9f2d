/** My own history: an export meets the public profiles on this device. Nothing is uploaded; the saved file cannot even ask. */

import { effect, errs, inDoubt } from "./advice.js";
import { make } from "./dom.js";
import { matched, readExport } from "./exports.js";
import { ZONE_NAMES, amount, number, say } from "./words.js";

const MOST = 200; // rows that are shown
const SIGNS = { 1: "like", 0: "neither", [-1]: "dislike" };
// What is about as telling, in bits: the month, the day, the date of one's birth, with a town of 10,000 in 80 million, everybody.
const KNOWN = [[3.6, "month"], [8.5, "birthday"], [14.8, "birthdate"], [27.8, "town"], [33, "everybody"]];
const place = (id) => document.getElementById(id);
const world = { titles: new Map(), profiles: new Map(), people: 1, blur: { deviation: 0, crowd: 0 } };
let [history, weighed] = [[], false];

/** What a click on an item gives away: the bits that it adds, its zone, and how often such a zone is another in truth. */
export function weigh(item, sign, { profiles, people, blur }) {
  if (!sign) return { bits: 0, zone: null, doubt: false, wrong: 0 };
  const profile = profiles.get(item) ?? [0, 0]; // hidden: as if she were alone
  const n = Math.max(people, profile[0] + profile[1] + 1);
  const { disclosure, zone } = effect(...profile, n, sign, "2");
  if (!profiles.get(item)) return { bits: disclosure, zone: "unknown", doubt: false, wrong: 0 };
  const [a, b] = sign > 0 ? profile : [...profile].reverse();
  return { bits: disclosure, zone, doubt: inDoubt(a, b, people, blur), wrong: errs(a, b, people, blur) };
}

const sum = (rows) => rows.reduce((total, { bits }) => total + bits, 0);

function summary() {
  place("total").hidden = place("known").hidden = place("most").hidden = !weighed;
  place("weigh").hidden = weighed;
  place("check").hidden = weighed;
  if (!weighed) return;
  const told = history.filter(({ sign }) => sign);
  const kept = told.filter((row) => !row.out);
  const out = told.length - kept.length;
  const said = { amount: amount(sum(told), "2"), kept: amount(sum(kept), "2"), out, items: told.length };
  place("total").textContent = say(out ? "history.total.out" : "history.total", said);
  const [, known] = KNOWN.findLast(([bits]) => bits <= sum(kept)) ?? [0, "less"];
  const plain = kept.filter(({ zone, doubt }) => zone && zone !== "unknown" && !doubt);
  const wrong = plain.reduce((total, row) => total + row.wrong, 0) / Math.max(plain.length, 1);
  const err = world.blur.deviation ? ` ${say("history.errs", { share: wrong < 5e-4 ? `<\u2009${number(0.1, 1)}` : number(100 * wrong, 1), plain: plain.length })}` : "";
  place("known").textContent = say(`history.known.${known}`) + err;
}

function choice(entry, title) {
  const option = (sign) => make("option", { value: sign, selected: entry.sign === Number(sign) }, say(`history.${SIGNS[sign]}`));
  const onchange = ({ target }) => {
    entry.sign = Number(target.value);
    if (weighed) compute();
  };
  return make("select", { "aria-label": say("history.sign", { title }), onchange }, ...["1", "0", "-1"].map(option));
}

function row(entry) {
  const title = world.titles.get(entry.item) ?? entry.item;
  const cells = (zone) => [make("th", { scope: "row" }, title, zone), make("td", {}, choice(entry, title))];
  if (!weighed) return make("tr", {}, make("td"), ...cells(null), make("td"), make("td"));
  const box = make("input", { type: "checkbox", "aria-label": say("history.leave", { title }), onchange: ({ target }) => {
    entry.out = target.checked;
    summary();
  } });
  box.checked = entry.out;
  const tells = entry.bits < 0 ? say("history.hides", { amount: amount(entry.bits, "2") }) : amount(entry.bits, "2");
  const name = entry.doubt ? say("zone.near", { zone: ZONE_NAMES[entry.zone] }) : ZONE_NAMES[entry.zone];
  const zone = (more = "") => entry.zone && make("span", { class: `where ${entry.zone}${more}` }, name);
  const [out, bits] = entry.sign ? [box, tells] : [null, "–"];
  const beneath = zone(" narrow"); // the title: on a phone it has no column of its own
  return make("tr", {}, make("td", {}, out), ...cells(beneath), make("td", {}, zone()), make("td", {}, bits));
}

const rows = () => place("rows").replaceChildren(...history.slice(0, MOST).map(row));

/** What all of it tells, most first, as the signs stand. */
function compute() {
  weighed = true;
  for (const entry of history) Object.assign(entry, weigh(entry.item, entry.sign, world));
  history.sort((x, y) => y.bits - x.bits);
  rows();
  summary();
}

function present({ found, missing }, read) {
  weighed = false;
  history = [...found].map(([item, sign]) => ({ item, sign, out: false }));
  const counted = say("history.matched", { found: found.size, missing });
  place("matched").textContent = history.length > MOST ? `${counted} ${say("history.most", { most: MOST })}` : counted;
  place("scales").replaceChildren(...read.map(({ name, top, entries }) => {
    const number_of = (sign) => entries.filter((entry) => entry.sign === sign).length;
    const numbers = { name, likes: number_of(1), dislikes: number_of(-1), neither: number_of(0) };
    return make("li", {}, say(top ? "history.scale" : "history.no_scale", { ...numbers, top: top ?? 0 }));
  }));
  rows();
  place("result").hidden = false;
  place("table").hidden = !history.length;
  summary();
}

async function take(files) {
  const read = [];
  try {
    for (const file of files) read.push({ name: file.name, ...readExport(await file.text()) });
    present(matched(read.flatMap(({ entries }) => entries), world.titles), read);
  } catch {
    place("matched").textContent = say("history.unreadable");
    place("scales").replaceChildren();
    place("result").hidden = false;
    place("table").hidden = true;
  }
}

place("weigh").addEventListener("click", compute);
place("most").addEventListener("click", () => {
  const half = history.reduce((sum, { bits }) => sum + Math.max(bits, 0), 0) / 2;
  let told = 0;
  for (const entry of history) {
    entry.out = told < half && entry.bits > 0;
    told += Math.max(entry.bits, 0);
  }
  rows();
  summary();
});
place("file").addEventListener("change", ({ target }) => take(target.files));
const area = place("drop");
for (const type of ["dragover", "drop"]) area.addEventListener(type, (event) => event.preventDefault());
area.addEventListener("drop", ({ dataTransfer }) => take(dataTransfer.files));

async function begin() {
  const get = async (path) => (await fetch(path, { credentials: "omit" })).json();
  const embedded = place("embedded");
  const [{ items }, { profiles, people, deviation, people_deviation: crowd }] = embedded
    ? Array(2).fill(JSON.parse(embedded.textContent))
    : await Promise.all([get("/api/v1/catalogue"), get("/api/v1/profiles?whole=true")]);
  const known = { titles: new Map(items), profiles: new Map(Object.entries(profiles)), people };
  Object.assign(world, known, { blur: { deviation, crowd } });
  place("file").disabled = false;
  place("state").textContent = say("history.ready", { titles: world.titles.size });
}
begin().catch(() => {
  place("state").textContent = say("history.away");
});
