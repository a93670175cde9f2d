/** The first rows of a file as they are read, and what can be said of it: encoding, separator, signs, dates, header. */

import { make } from "/shared/dom.js";
import { field, refill } from "./fields.js";
import { own } from "./own.js";
import { hear, problem } from "./notices.js";
import { ask, Problem } from "./server.js";
import { known, say } from "./words.js";

/** source: a path; columns(): roles to names, as they are chosen now. how(): what was said here, null for nothing. */
export function firstRows(source, columns) {
  const place = make("div", { class: "reading", id: "reading" });
  let said = null;
  let asked = 0;
  async function look() {
    const mine = ++asked;
    const found = await ask("POST", "/api/look", { source, columns: fitting(columns()), how: said }).catch((error) => {
      if (!(error instanceof Problem)) throw error;
      if (mine === asked) problem(error);
      return null;
    });
    if (!found || mine !== asked) return;
    names = found.names;
    refill(place, ...shown(found, choose));
    if (said) hear(say("reading.heard"), true);
  }
  let names = null;
  const fitting = (roles) =>
    Object.fromEntries(Object.entries(roles).filter(([, name]) => !names || !said || names.includes(name)));
  const choose = (key, value) => {
    said = { ...said, [key]: value };
    look();
  };
  look();
  return { place, look, how: () => said };
}

function shown(found, choose) {
  const selects = Object.entries(found.how).map(([key, value]) => {
    const option = (one) => make("option", { value: one, selected: one === value }, optionName(key, one));
    const select = make("select", { "data-key": key, onchange: () => choose(key, select.value) }, ...found.choices[key].map(option));
    return field(`reading.${key}`, say(`reading.${key}`), select);
  });
  const bad = found.rows.some((row) => row.some((cell) => cell.bad));
  return [
    make("h3", {}, say("reading.title")),
    make("p", { class: "small" }, say(selects.length ? "reading.lead" : "reading.fixed")),
    found.problem ? own("p", found.problem, { class: "problem" }) : null,
    make("div", { class: "reading-choices" }, ...selects),
    table(found),
    bad ? make("p", { class: "problem", role: "status" }, say("reading.bad")) : null,
  ];
}

const SIGNS = { "\t": "reading.tab", " ": "reading.blank" };
function optionName(key, value) {
  if (key === "separator") return SIGNS[value] ? say(SIGNS[value]) : value;
  return known(`reading.${key}.${value}`, value).text;
}

function table({ names, roles, rows }) {
  const head = (name) =>
    make("th", { scope: "col" }, name, roles[name] ? make("small", {}, ` ${known(`role.${roles[name]}`, roles[name]).text}`) : null);
  const cell = ({ text, bad }) =>
    make("td", { class: bad ? "bad" : null }, text, bad ? make("span", { class: "unseen" }, ` (${say("reading.unread")})`) : null);
  return make(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": say("reading.title") },
    make(
      "table",
      { class: "first-rows" },
      make("thead", {}, make("tr", {}, ...names.map(head))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))),
    ),
  );
}
