/** Publish: what goes out and what stays in, file by file; the bundle is checked as its receiver would check it. */

import { make } from "/shared/dom.js";
import { hear } from "../notices.js";
import { action, jobList, part, refill, told } from "../pieces.js";
import { ask } from "../server.js";
import { act, busy, change, choices, jobs, onResult, watch, work } from "../state.js";
import { known, say, size } from "../words.js";

const EXPORTS = ["zip", "huggingface", "kaggle", "frictionless"];

export function show(root) {
  const working = make("ul", { class: "jobs" });
  const done = make("div");
  const publish = action(say("publish.do"), () => work("publish"), { class: "main", id: "publish" });
  const chosen = new Set(choices().publish.exports);
  const pick = (name) => async (event) => {
    if (event.target.checked) chosen.add(name);
    else chosen.delete(name);
    await change({ publish: { exports: EXPORTS.filter((one) => chosen.has(one)) } });
  };
  const box = (name) =>
    make(
      "label",
      { class: "tick wide" },
      make("input", { type: "checkbox", checked: chosen.has(name), onchange: pick(name) }),
      make("span", {}, make("b", {}, say(`publish.${name}`)), say(`publish.${name}.about`)),
    );
  root.append(
    make(
      "fieldset",
      { class: "ticks field", "data-field": "publish.exports" },
      make("legend", {}, say("publish.exports")),
      ...EXPORTS.map(box),
    ),
    make("p", { class: "row" }, publish),
    working,
    done,
  );
  watch(() => {
    publish.disabled = busy("publish").length > 0;
    jobList(working, jobs("publish"), () => say("publish.working"));
  });
  onResult("published", (found) => refill(done, ...(found ? published(found) : [])));
}

function published(found) {
  const { verification } = found;
  const holds = verification.verified === true;
  const says = say(holds ? "publish.holds" : "publish.broken");
  hear(says, true);
  return [
    make("p", { class: `verdict outcome ${holds ? "for" : "against"}` }, says),
    ...told(verification.problems ?? []),
    make(
      "div",
      { class: "two" },
      part(
        say("publish.out"),
        make("p", { class: "lead" }, say("publish.out.lead", { place: found.place })),
        files([...found.goes_out, ...(found.exports ?? [])], true),
      ),
      part(say("publish.in"), make("p", { class: "lead" }, say("publish.in.lead")), files(found.stays_in, false)),
    ),
    part(
      say("publish.keys"),
      make("p", { class: "lead" }, say("publish.keys.lead")),
      make(
        "dl",
        { class: "keys" },
        ...Object.entries(verification.keys ?? {}).flatMap(([who, key]) => [
          make("dt", {}, say(`publish.key.${who}`)),
          make("dd", {}, make("code", {}, key)),
        ]),
      ),
    ),
    found.remarks?.length ? part(say("publish.remarks"), ...told(found.remarks)) : null,
    sideBySide(),
  ];
}

/** Twenty rows before and after; asked for, shown here, and kept nowhere. */
function sideBySide() {
  const place = make("div", { class: "two" });
  const look = async () => {
    refill(place, make("p", { role: "status" }, say("start.reading"))); // a large file takes its time
    await act(async () => {
      const { before, after } = await ask("GET", "/api/published/rows");
      refill(place, rows("publish.before", before), rows("publish.after", after));
    });
  };
  return part(
    say("publish.rows"),
    make("p", { class: "lead" }, say("publish.rows.lead")),
    make("p", { class: "row" }, action(say("publish.rows.show"), look, { id: "rows" })),
    place,
  );
}

function rows(title, { columns, rows: all }) {
  const cells = (row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)));
  return make(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": say(title) },
    make("h3", {}, say(title)),
    make(
      "table",
      { class: "releases" },
      make("thead", {}, make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...all.map(cells)),
    ),
  );
}

function files(list, out) {
  const entry = (file) => {
    const name = file.path.split("/").at(-1);
    const { text, lang } = known(`file.${name.replace(/^.*\.owner$/, "owner").replace(/\W/g, "_")}`, file.what ?? "");
    const link = file.href ? make("a", { href: file.href, download: name }, file.path) : file.path;
    return make(
      "li",
      {},
      make("code", {}, link),
      file.bytes != null && make("span", { class: "small" }, ` ${size(file.bytes)}`),
      text && make("span", { class: "what", lang }, text),
    );
  };
  return make("ul", { class: out ? "files out" : "files in" }, ...list.map(entry));
}
