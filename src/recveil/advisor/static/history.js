/** My own history: an export meets the public profiles on this device. Nothing is uploaded; the saved file cannot even ask. */

import { effect } from "./advice.js";
import { make } from "./dom.js";
import { matched, readExport } from "./exports.js";
import { ZONE_NAMES, amount, say } from "./words.js";

const MOST = 200; // rows that are shown
const place = (id) => document.getElementById(id);
const world = { titles: new Map(), profiles: new Map(), people: 1 };
let history = [];

/** What each matched item gives away, most first: the bits that her click on it adds. */
export function weigh(found, { profiles, people }) {
  const weighed = [...found].map(([item, sign]) => {
    const profile = profiles.get(item) ?? [0, 0]; // hidden: as if she were alone
    const n = Math.max(people, profile[0] + profile[1] + 1);
    const { disclosure, zone } = effect(...profile, n, sign, "2");
    return { item, sign, bits: disclosure, zone: profiles.get(item) ? zone : "unknown", out: false };
  });
  return weighed.sort((x, y) => y.bits - x.bits);
}

function summary() {
  const [all, kept] = [history, history.filter(({ out }) => !out)].map((rows) => rows.reduce((s, { bits }) => s + bits, 0));
  const out = history.filter((row) => row.out).length;
  const told = { amount: amount(all, "2"), kept: amount(kept, "2"), out, items: history.length };
  place("total").textContent = say(out ? "history.total.out" : "history.total", told);
}

function row(entry) {
  const title = world.titles.get(entry.item) ?? entry.item;
  const box = make("input", { type: "checkbox", "aria-label": say("history.leave", { title }), onchange: ({ target }) => {
    entry.out = target.checked;
    summary();
  } });
  box.checked = entry.out;
  const hides = entry.bits < 0 ? say("history.hides", { amount: amount(entry.bits, "2") }) : amount(entry.bits, "2");
  const zone = make("span", { class: `where ${entry.zone}` }, ZONE_NAMES[entry.zone]);
  return make("tr", {}, make("td", {}, box), make("th", { scope: "row" }, title), make("td", {}, zone), make("td", {}, hides));
}

function present({ found, missing }) {
  history = weigh(found, world);
  const counted = say("history.matched", { found: found.size, missing });
  place("matched").textContent = history.length > MOST ? `${counted} ${say("history.most", { most: MOST })}` : counted;
  place("rows").replaceChildren(...history.slice(0, MOST).map(row));
  place("result").hidden = false;
  place("table").hidden = !history.length;
  summary();
}

async function take(files) {
  try {
    const texts = await Promise.all([...files].map((file) => file.text()));
    present(matched(texts.flatMap(readExport), world.titles));
  } catch {
    place("matched").textContent = say("history.unreadable");
    place("result").hidden = false;
    place("table").hidden = true;
  }
}

place("most").addEventListener("click", () => {
  const half = history.reduce((sum, { bits }) => sum + Math.max(bits, 0), 0) / 2;
  let told = 0;
  for (const entry of history) {
    entry.out = told < half && entry.bits > 0;
    told += Math.max(entry.bits, 0);
  }
  place("rows").replaceChildren(...history.slice(0, MOST).map(row));
  summary();
});
place("file").addEventListener("change", ({ target }) => take(target.files));
const area = place("drop");
for (const type of ["dragover", "drop"]) area.addEventListener(type, (event) => event.preventDefault());
area.addEventListener("drop", ({ dataTransfer }) => take(dataTransfer.files));

async function begin() {
  const embedded = place("embedded");
  if (embedded) {
    const { items, profiles, people } = JSON.parse(embedded.textContent);
    Object.assign(world, { titles: new Map(items), profiles: new Map(Object.entries(profiles)), people });
  } else {
    const get = async (path) => (await fetch(path, { credentials: "omit" })).json();
    const [{ items }, { profiles, people }] = await Promise.all([get("/api/v1/catalogue"), get("/api/v1/profiles")]);
    Object.assign(world, { titles: new Map(items), profiles: new Map(Object.entries(profiles)), people });
  }
  place("file").disabled = false;
  place("state").textContent = say("history.ready", { titles: world.titles.size });
}
begin().catch(() => {
  place("state").textContent = say("history.away");
});
