/** The projects of this desk: opened, made, renamed and deleted; and the tour, in a project of its own. */

import { make } from "/shared/dom.js";
import { field, part, refill } from "./fields.js";
import { own } from "./own.js";
import { says } from "./notices.js";
import { ask } from "./server.js";
import { act, trouble } from "./state.js";
import { date, known, say } from "./words.js";

const list = make("ul", { class: "projects" });
let found = await ask("GET", "/api/projects");

/** Ask for something about projects; where another is open after it, go there. */
async function about(path, body) {
  let kept = "";
  const went = await act(async () => {
    const before = found.open;
    found = await ask("POST", path, body);
    kept = found.kept;
    const opened = found.projects.find((one) => one.name === found.open);
    if (found.open !== before) location.assign(opened?.source ? "/" : "/start");
    else paint();
  });
  if (went && kept) says(say("home.kept", { name: kept }), true);
  return went;
}

function paint() {
  refill(list, ...found.projects.map(entry));
}

function entry(one) {
  const here = one.name === found.open;
  const facts = [
    one.source || say("home.empty"),
    one.chosen && known(`mechanism.${one.chosen}`, one.chosen).text,
    one.published && say("line.published"),
    say("home.changed", { date: date(one.changed) }),
  ].filter(Boolean);
  return make(
    "li",
    { class: here ? "panel here" : "panel" },
    make("h2", {}, one.name, here ? make("span", { class: "badge below" }, say("home.open")) : null),
    make("p", { class: "small" }, facts.join(" · ")),
    one.problem && own("p", one.problem, { class: "problem" }),
    make(
      "p",
      { class: "row" },
      here
        ? make("a", { class: "button main", href: "/", "data-key": `go-${one.name}` }, say("home.go"))
        : make("button", { type: "button", class: "main", "data-open": one.name, onclick: () => about("/api/projects/open", { name: one.name }) }, say("home.do_open"), make("span", { class: "unseen" }, ` ${one.name}`)),
    ),
    renaming(one),
    here ? make("p", { class: "small" }, say("home.not_open_one")) : deleting(one),
  );
}

function renaming(one) {
  const input = make("input", { type: "text", maxlength: 80 });
  input.value = one.name;
  const save = (event) => {
    event.preventDefault();
    about("/api/projects/rename", { name: one.name, to: input.value });
  };
  return folded(one, "rename", input, save, make("button", {}, say("home.rename")));
}

function deleting(one) {
  const input = make("input", { type: "text", autocomplete: "off" });
  const go = (event) => {
    event.preventDefault();
    about("/api/projects/delete", { name: one.name, to: input.value });
  };
  const made = folded(one, "delete", input, go, make("button", { class: "danger" }, say("home.delete")));
  made.querySelector("form").prepend(make("p", {}, say("home.delete.lead")));
  return made;
}

function folded(one, what, input, onsubmit, button) {
  const labelled = field(`home-${what}-${one.name}`, say(`home.${what}.name`), input);
  return make(
    "details",
    { class: what },
    make("summary", {}, say(`home.${what}`), make("span", { class: "unseen" }, ` ${one.name}`)),
    make("form", { onsubmit }, labelled, make("p", { class: "row" }, button)),
  );
}

function making() {
  const input = make("input", { type: "text", maxlength: 80, required: true });
  const go = (event) => {
    event.preventDefault();
    about("/api/projects/new", { name: input.value });
  };
  return make(
    "form",
    { onsubmit: go },
    field("project.name", say("home.new.name"), input, say("home.new.hint", { folder: found.folder })),
    make("p", { class: "row" }, make("button", { class: "main", id: "new" }, say("home.new.do"))),
  );
}

const tour = () => act(() => ask("POST", "/api/tour"));
document.getElementById("screen").append(
  list,
  part(say("home.new"), making()),
  part(
    say("home.tour"),
    make("p", { class: "lead" }, say("tour.start.hint")),
    make("p", { class: "row" }, make("button", { type: "button", id: "take-tour", onclick: tour }, say("tour.start"))),
  ),
);
paint();
trouble();
document.body.dataset.ready = "yes";
