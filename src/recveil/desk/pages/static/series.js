/** A series of releases: its promise, what is left of it, its windows as a picture over time, and the next date. */

import { make } from "/shared/dom.js";
import { part } from "./pieces.js";
import { count, date, percent, plain, say } from "./words.js";

export function series(found) {
  const fact = (name, value) => make("div", {}, make("dt", {}, say(name)), make("dd", {}, make("b", {}, value)));
  return part(
    say("series.title", { name: found.series }),
    make(
      "p",
      { class: "lead" },
      say(`series.promise.${found.unit}.${found.grade}`, { epsilon: plain(found.epsilon), delta: plain(found.delta), n: found.participations, of: found.windows.length, end: date(found.period.end) }),
    ),
    found.experiment ? make("p", { class: "banner refused" }, say("watch.seeded")) : null,
    make(
      "dl",
      { class: "facts" },
      fact("series.left", say("judge.left.of", { left: count(found.left), all: count(found.windows.length) })),
      fact("series.budget", percent(1 - found.spent_on_a_person)),
      found.due ? fact("series.due", count(found.due)) : null,
      found.next || !found.due ? fact("series.next", found.next ? date(found.next) : say("series.over")) : null,
    ),
    picture(found.windows),
    table(found.windows),
  );
}

/** A bar for every window: as high as it has rows, hollow where it has not left. */
function picture(windows) {
  const most = Math.max(1, ...windows.map((one) => one.rows ?? 0));
  const bar = (one) => {
    const drawn = make("i", { class: one.rows == null ? "hollow" : null, title: told(one) });
    drawn.style.height = `${one.rows == null ? 100 : Math.max(2, (100 * one.rows) / most)}%`;
    return drawn;
  };
  return make(
    "figure",
    {},
    make("div", { class: "windows", role: "img", "aria-label": say("series.picture") }, ...windows.map(bar)),
    make("p", { class: "ends small" }, make("span", {}, date(windows[0].begin)), make("span", {}, date(windows.at(-1).end))),
    make("figcaption", {}, say("series.picture.about", { most: count(most) })),
  );
}

const told = (one) => `${date(one.begin)}: ${kept(one)}`;

function kept(one) {
  if (one.status !== "left") return say(`series.status.${one.status.replace(" ", "_")}`);
  if (one.rows == null) return say("series.gone");
  return one.rows ? say("series.kept", { rows: count(one.rows), items: count(one.items) }) : say("series.nothing");
}

function table(windows) {
  const row = (one) =>
    make("tr", {}, make("th", { scope: "row" }, count(one.window)), make("td", {}, `${date(one.begin)} – ${date(one.end)}`), make("td", {}, kept(one)));
  const head = ["window", "days", "what"].map((key) => make("th", { scope: "col" }, say(`series.${key}`)));
  return make(
    "details",
    {},
    make("summary", {}, say("series.windows")),
    make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": say("series.windows") }, make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...windows.map(row)))),
  );
}
