/** Further candidates: a mechanism that fits, one written out, or a file that another tool made. */

import { make } from "/shared/dom.js";
import { field, refill } from "./pieces.js";
import { ask, upload } from "./server.js";
import { act, change, choices, now, onResult } from "./state.js";
import { known, say } from "./words.js";

const add = (spec) => {
  const { specs } = choices().candidates;
  return specs.includes(spec) ? true : change({ candidates: { specs: [...specs, spec] } });
};

export function additions() {
  const fitting = make("div");
  onResult("overview", (overview) => overview && refill(fitting, list(overview)));
  return make(
    "details",
    { class: "additions" },
    make("summary", {}, say("additions.title")),
    fitting,
    written(),
    file(),
  );
}

function list(overview) {
  const possible = overview.fitting.filter((one) => one.fits);
  const option = (one) =>
    make(
      "option",
      { value: one.spec },
      known(`mechanism.${one.mechanism}`, one.mechanism).text +
        (one.promise ? "" : ` (${say("additions.no_promise")})`),
    );
  const select = make("select", {}, ...possible.map(option));
  const made = field("candidates.fitting", say("additions.fitting"), select);
  made.append(make("button", { type: "button", onclick: () => add(select.value) }, say("additions.add")));
  return made;
}

function written() {
  const input = make("input", {
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "dp-ratings:epsilon=2,delta=1e-6,scale=1..5",
  });
  const submit = async (event) => {
    event.preventDefault();
    if (input.value.trim() && (await add(input.value.trim()))) input.value = "";
  };
  const made = field("candidates.specs", say("additions.written"), input, say("additions.written.hint"));
  made.append(make("button", {}, say("additions.add")));
  return make("form", { onsubmit: submit }, made);
}

function file() {
  const input = make("input", { type: "file" });
  const bar = make("progress", { max: 1, value: 0, hidden: true, "aria-label": say("start.sending") });
  input.addEventListener("change", async () => {
    if (!input.files.length) return;
    bar.hidden = false;
    await act(async () => {
      await upload(input.files[0], "candidate", (share) => {
        bar.value = share;
      });
      return ask("GET", "/api/state");
    });
    bar.hidden = true;
    input.value = "";
  });
  const made = field(
    "candidates.files",
    say("additions.file"),
    input,
    say("additions.file.hint", { name: now().project.name }),
  );
  made.append(bar);
  return made;
}
