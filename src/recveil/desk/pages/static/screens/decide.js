/** Decide: the sheet of evidence; the officer's name, role and conditions; approve or refuse, signed. */

import { make } from "/shared/dom.js";
import { field, part, refill, told } from "../pieces.js";
import { says } from "../notices.js";
import { ask } from "../server.js";
import { act, choices, now, watch } from "../state.js";
import { date, engine, say } from "../words.js";

export function show(root) {
  const sheet = make("div");
  const decided = make("div", { "aria-live": "polite" });
  root.append(sheet, decided, part(say("decide.sign"), make("p", { class: "lead" }, say("decide.sign.lead")), form(sheet)));
  let seen = "";
  watch(async ({ results, steps, choices: chosen }) => {
    const key = [results.bundle, results["red-team"], steps.decide.state, chosen.officer.decision].join();
    if (key === seen) return; // not by the sheet's own tag: to look at it writes it
    seen = key;
    const found = results.bundle ? await ask("GET", "/api/sheet").catch(() => null) : null;
    sheet.dataset.digest = found?.digest ?? "";
    refill(sheet, ...(found ? evidence(found) : [make("p", {}, say("decide.wait"))]));
  });
  watch(({ choices: { officer }, steps }) =>
    refill(decided, officer.decision && steps.decide.state === "done" ? standing(officer) : null),
  );
}

/** What the rule says, and the sheet itself. */
function evidence(found) {
  const { verdict } = found;
  return [
    make("p", { class: `verdict outcome ${verdict.outcome}` }, say(`decide.outcome.${verdict.outcome}`)),
    ...told(verdict.sentences),
    make(
      "details",
      {},
      make("summary", {}, say("decide.rule")),
      make("ul", { class: "bullets" }, ...told(verdict.rule, "li")),
      ...told([verdict.law]),
    ),
    make(
      "p",
      { class: "row" },
      make("a", { class: "button", href: "/api/sheet/page", target: "_blank", rel: "noopener" }, say("decide.open")),
    ),
    make("iframe", { class: "sheet", src: "/api/sheet/page", title: say("decide.sheet") }),
  ];
}

const standing = (officer) =>
  make(
    "p",
    { class: `banner ${officer.decision}` },
    say(`decide.${officer.decision}`, { name: officer.name, role: officer.role }),
    officer.until ? ` ${say("decide.stands_until", { date: date(officer.until) })}` : "",
  );

function form(sheet) {
  const { officer } = choices();
  const input = (key, options) => {
    const made = make(key === "conditions" ? "textarea" : "input", {
      ...(key === "conditions" ? { rows: 3 } : { type: "text" }),
      ...options,
    });
    made.value = key === "conditions" ? officer.conditions.join("\n") : (officer[key] ?? "");
    return made;
  };
  const inputs = {
    name: input("name", { autocomplete: "name", maxlength: 200 }),
    role: input("role", { autocomplete: "organization-title", maxlength: 200 }),
    conditions: input("conditions", {}),
    reason: input("reason", { maxlength: 500 }),
    until: input("until", { type: "date", max: "9999-12-31" }), // else a year has six digits
    passphrase: input("passphrase", { type: "password", autocomplete: "off" }),
  };
  const fields = ["name", "role", "reason", "conditions", "until"].map((key) =>
    field(`officer.${key}`, say(`decide.${key}`), inputs[key], say(`decide.${key}.hint`)),
  );
  const secret = make(
    "details",
    {},
    make("summary", {}, say("decide.passphrase.more")),
    field("officer.passphrase", say("decide.passphrase"), inputs.passphrase, say("decide.passphrase.hint")),
  );
  const sure = make("dialog", { class: "sure", "aria-labelledby": "sure-title" });
  const sign = (decision) => async () => {
    sure.close();
    const conditions = inputs.conditions.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    const body = {
      version: now().project.version,
      name: inputs.name.value.trim(),
      role: inputs.role.value.trim(),
      decision,
      reason: inputs.reason.value.trim(),
      conditions,
      until: inputs.until.value,
      passphrase: inputs.passphrase.value || null,
      sheet: sheet.dataset.digest,
    };
    if (await act(() => ask("POST", "/api/decide", body))) says(say(`decide.signed.${decision}`));
  };
  const ask_first = (decision) => (event) => {
    event.preventDefault();
    sure.replaceChildren(
      make("h2", { id: "sure-title" }, say(`decide.sure.${decision}`)),
      make("p", {}, say(`decide.sure.${decision}.text`)),
      make(
        "p",
        { class: "row" },
        make("button", { type: "button", onclick: () => sure.close(), autofocus: true }, say("decide.not_yet")),
        make(
          "button",
          { type: "button", class: decision === "refused" ? "danger" : "main", id: "sure", onclick: sign(decision) },
          say(`decide.do.${decision}`),
        ),
      ),
    );
    sure.showModal();
  };
  return make(
    "form",
    { class: "officer", onsubmit: ask_first("approved") },
    ...fields,
    secret,
    make(
      "p",
      { class: "row" },
      make("button", { class: "main", id: "approve" }, say("decide.approve")),
      make(
        "button",
        { type: "button", class: "danger", id: "refuse", onclick: ask_first("refused") },
        say("decide.refuse"),
      ),
    ),
    sure,
  );
}
