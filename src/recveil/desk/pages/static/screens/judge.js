/** Judge: models that others learned from the release, on the people set aside; the board, and what is left. */

import { make } from "/shared/dom.js";
import { action, field, jobList, part, refill } from "../pieces.js";
import { ask, upload } from "../server.js";
import { act, busy, change, choices, jobs, watch, work } from "../state.js";
import { count, plain, say } from "../words.js";

export function show(root) {
  if (!choices().judge.people) {
    root.append(make("p", {}, say("judge.none")));
    return;
  }
  const working = make("ul", { class: "jobs" });
  const closed = opening();
  const open = make("div", { hidden: true }, submission(), references());
  const board = make("div");
  root.append(closed, open, working, board);
  let seen = "";
  watch(async ({ results }) => {
    jobList(working, jobs("court", "judge"), (one) => say(one.kind === "court" ? "judge.counting" : "judge.judging", { name: one.title }));
    for (const button of closed.querySelectorAll("button")) button.disabled = busy("court").length > 0;
    const key = [results.court, results.judge].join();
    if (key === seen || !results.court) return;
    seen = key;
    closed.hidden = true;
    open.hidden = false;
    refill(board, ...standing(await ask("GET", "/api/judge")));
  });
}

/** Counting the people spends a little, so it is asked for. */
function opening() {
  return part(
    say("judge.open"),
    make("p", { class: "lead" }, say("judge.open.lead", { epsilon: plain(choices().judge.epsilon) })),
    make("p", { class: "row" }, action(say("judge.open.do"), () => work("court"), { class: "main", id: "open-court" })),
  );
}

function submission() {
  const input = make("input", { type: "file", accept: ".parquet,.onnx" });
  const bar = make("progress", { max: 1, value: 0, hidden: true, "aria-label": say("start.sending") });
  input.addEventListener("change", async () => {
    if (!input.files.length) return;
    bar.hidden = false;
    await act(async () => {
      await upload(input.files[0], "submission", (share) => {
        bar.value = share;
      });
      return ask("GET", "/api/state");
    });
    bar.hidden = true;
    input.value = "";
  });
  const made = field("judge.submissions", say("judge.file"), input, say("judge.file.hint"));
  made.append(bar);
  return made;
}

function references() {
  const tick = make("input", { type: "checkbox", checked: choices().judge.references, id: "references" });
  tick.addEventListener("change", async () => {
    const wanted = tick.checked;
    if (await change({ judge: { references: wanted } })) wanted && work("judge");
    else tick.checked = !wanted;
  });
  return make(
    "fieldset",
    { class: "ticks field", "data-field": "judge.references" },
    make("legend", {}, say("judge.references")),
    make("label", { class: "tick wide" }, tick, make("span", {}, say("judge.references.about"))),
  );
}

function standing(found) {
  const number = (name, value) => make("div", {}, make("dt", {}, say(name)), make("dd", {}, make("b", {}, value)));
  return [
    part(
      say("judge.board"),
      make(
        "dl",
        { class: "facts" },
        number("judge.left", say("judge.left.of", { left: count(found.left), all: count(found.answers) })),
        number(found.unit === "session" ? "judge.sessions" : "judge.people", count(found.people)),
        number("judge.spent", say("judge.spent.of", { spent: plain(found.spent.epsilon), all: plain(found.promise.epsilon) })),
      ),
      found.left ? null : make("p", { class: "banner refused" }, say("judge.over")),
      make(
        "p",
        { class: "row" },
        make("a", { class: "button", href: "/api/judge/page", target: "_blank", rel: "noopener" }, say("judge.board.open")),
      ),
      make("iframe", { class: "sheet", src: "/api/judge/page", title: say("judge.board") }),
    ),
  ];
}
