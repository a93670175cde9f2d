/** Start: a sample, or a file of one's own; what was recognised in it, and corrections. */

import { make } from "/shared/dom.js";
import { hear } from "../notices.js";
import { action, field, jobList, own, part, refill } from "../pieces.js";
import { ask, upload } from "../server.js";
import { firstRows } from "../reading.js";
import { act, change, choices, jobs, onResult, watch } from "../state.js";
import { count, engine, percent, say } from "../words.js";

const SAMPLES = ["films", "sessions", "tags"];
const NONE = "";
const SHARES = [0, 0.05, 0.1, 0.2, 0.3, 0.5]; // of people, set aside to judge

const begin = (source, columns = {}, how = null) => act(() => ask("POST", "/api/start", { source, columns, how }));

/** Other data in a project that has come further: what that means is said first. True where it is meant. */
function meant(name) {
  const { data, recipient, candidates } = choices();
  const further = recipient.name || candidates.chosen || candidates.specs.length;
  if (!data.source || !further || data.source === name) return Promise.resolve(true);
  const before = data.source.split("/").at(-1);
  return new Promise((done) => {
    const sure = make("dialog", { class: "sure", "aria-labelledby": "sure-title" });
    const close = (yes) => () => {
      done(yes);
      sure.remove();
    };
    sure.append(
      make("h2", { id: "sure-title" }, say("start.sure")),
      make("p", {}, say("start.sure.text", { before })),
      make(
        "p",
        { class: "row" },
        make("button", { type: "button", onclick: close(false), autofocus: true }, say("decide.not_yet")),
        make("a", { class: "button", href: "/home" }, say("start.sure.home")),
        make("button", { type: "button", class: "main", id: "sure", onclick: close(true) }, say("start.sure.do")),
      ),
    );
    sure.addEventListener("cancel", close(false));
    document.body.append(sure);
    sure.showModal();
  });
}

const other = async (source) => (await meant(source)) && begin(source);

export function show(root) {
  const found = make("div", { id: "found" });
  const working = make("ul", { class: "jobs" });
  root.append(samples(), ownFile(), working, found, aside());
  watch(() => jobList(working, jobs("overview"), () => say("start.reading")));
  onResult("overview", (overview) => refill(found, ...(overview ? recognised(overview) : [])));
}

function samples() {
  const entry = (name) =>
    make(
      "li",
      {},
      make(
        "button",
        { type: "button", class: "sample", onclick: () => other(`sample:${name}`) },
        make("b", {}, say(`sample.${name}`)),
        make("span", {}, say(`sample.${name}.about`)),
      ),
    );
  const guided = () => act(() => ask("POST", "/api/tour"));
  return part(
    say("start.sample"),
    make("p", { class: "lead" }, say("start.sample.lead")),
    make("ul", { class: "samples" }, ...SAMPLES.map(entry)),
    make("p", { class: "row" }, action(say("tour.start"), guided, { id: "take-tour" })),
    make("p", { class: "small" }, say("tour.start.hint")),
  );
}

function ownFile() {
  const told = make("p", { class: "small", role: "status" });
  const bar = make("progress", { max: 1, value: 0, hidden: true, "aria-label": say("start.sending") });
  const input = make("input", { type: "file", onchange: () => input.files.length && send(input.files[0]) });
  async function send(file) {
    if (!(await meant(null))) {
      input.value = "";
      return;
    }
    bar.hidden = false;
    told.textContent = say("start.sending");
    const went = await act(async () => {
      const { path } = await upload(file, "data", (share) => {
        bar.value = share;
      });
      return ask("POST", "/api/start", { source: path });
    });
    bar.hidden = true;
    told.textContent = went ? say("start.sent", { name: file.name }) : "";
    input.value = "";
  }
  const drop = make("div", { class: "drop" }, make("label", { for: "file" }, say("start.drop")), input, bar, told);
  input.id = "file";
  const over = (yes) => (event) => {
    event.preventDefault();
    drop.classList.toggle("over", yes);
  };
  drop.addEventListener("dragover", over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
  const path = make("input", {
    type: "text",
    id: "path",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "/home/me/ratings.csv",
  });
  const use = (event) => {
    event.preventDefault();
    if (path.value.trim()) other(path.value.trim());
  };
  const form = make(
    "form",
    { class: "path field", "data-field": "data.source", onsubmit: use },
    make("label", { for: "path" }, say("start.path")),
    make("div", { class: "row" }, path, make("button", {}, say("start.use"))),
    make("p", { class: "small" }, say("start.path.hint")),
  );
  return part(say("start.own"), make("p", { class: "lead" }, say("start.own.lead")), drop, form);
}

/** What the file is, and which column plays which part; those who know better choose. */
function recognised(overview) {
  const { source } = choices().data;
  if (overview.problem)
    return [
      part(
        say("start.unrecognised"),
        make("p", { class: "lead" }, say("start.choose")),
        own("p", overview.problem, { class: "problem", role: "alert" }),
        columns(overview, source),
      ),
    ];
  const values = {
    rows: count(overview.rows),
    people: count(overview.users),
    items: count(overview.items),
    name: source.split("/").at(-1),
  };
  const says = say(`start.is.${overview.kind}`, values);
  hear(says, true);
  const facts = [
    make("p", { class: "big" }, says),
    overview.duplicates ? make("p", { class: "small" }, say("start.duplicates", { n: overview.duplicates })) : null,
  ];
  if (!overview.columns?.length) return [part(say("start.recognised"), ...facts)];
  return [
    part(
      say("start.recognised"),
      ...facts,
      make("p", { class: "lead" }, say("start.columns")),
      columns(overview, source),
    ),
  ];
}

function columns(overview, source) {
  const roles = overview.roles ?? ["user", "item", "rating", "time", "tag", "session"];
  const selects = new Map();
  const found = overview.columns?.length
    ? overview.columns
    : overview.names.map((name) => ({ name, role: null, looks: "" }));
  const row = ({ name, role, looks }) => {
    const options = [NONE, ...roles].map((value) =>
      make("option", { value, selected: value === (role ?? NONE) }, say(value ? `role.${value}` : "role.none")),
    );
    const select = make("select", { "aria-label": say("start.column", { name }), onchange: () => rows.look() }, ...options);
    selects.set(name, select);
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, name),
      make("td", {}, select),
      make("td", { class: "looks", ...engine }, looks ?? ""),
    );
  };
  const chosen = () =>
    Object.fromEntries([...selects].filter(([, select]) => select.value).map(([name, select]) => [select.value, name]));
  const rows = firstRows(source, chosen);
  const again = (event) => {
    event.preventDefault();
    begin(source, chosen(), rows.how());
  };
  const head = ["start.column.name", "start.column.role", "start.column.looks"].map((key) =>
    make("th", { scope: "col" }, say(key)),
  );
  return make(
    "form",
    { class: "field", "data-field": "data.columns", onsubmit: again },
    make(
      "div",
      { class: "scroll" },
      make(
        "table",
        { class: "columns-table" },
        make("thead", {}, make("tr", {}, ...head)),
        make("tbody", {}, ...found.map(row)),
      ),
    ),
    rows.place,
    make("p", { class: "row" }, make("button", overview.problem ? { class: "main" } : {}, say("start.again"))),
    overview.density != null &&
      make("p", { class: "small" }, say("start.density", { share: percent(overview.density) })),
  );
}

/** Who is kept out of every release, to judge later what others learned from it. */
function aside() {
  const share = () => choices().judge.people;
  const option = (value) =>
    make("option", { value }, value ? say("start.aside.share", { share: percent(value) }) : say("start.aside.none"));
  const select = make("select", {}, ...[...new Set([...SHARES, share()])].sort((a, b) => a - b).map(option));
  watch(() => {
    select.value = String(share());
  });
  select.addEventListener("change", async () => {
    if (!(await change({ judge: { people: Number(select.value) } }))) select.value = String(share());
  });
  return part(
    say("start.aside"),
    make("p", { class: "lead" }, say("start.aside.lead")),
    field("judge.people", say("start.aside.people"), select, say("start.aside.hint")),
  );
}
