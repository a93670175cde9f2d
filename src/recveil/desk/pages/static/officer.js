/** The officer's page: how the case stands, the sheet, her decision, and the way back out of it. */

import { make } from "/shared/dom.js";
import { problem, says } from "./notices.js";
import { field, part, refill } from "./fields.js";
import { own } from "./own.js";
import { ask, Problem } from "./server.js";
import { standing as stands } from "./standing.js";
import { language, say } from "./words.js";

const screen = document.getElementById("screen");
const [standing, sheet, history] = [make("div", { "aria-live": "polite" }), make("div"), make("div")];
const changed = make("p", { class: "problem", role: "alert", id: "changed", hidden: true }, say("officer.changed"));
let now = null;

function show(found) {
  if (now && now.digest !== found.digest) {
    changed.hidden = false; // what she read is not what stands there now
    document.querySelector("dialog[open]")?.close();
    changed.scrollIntoView({ block: "center" });
  }
  now = found;
  const { outcome } = found.standing;
  refill(
    standing,
    make("p", { class: `verdict outcome ${found.verdict.outcome}`, id: "verdict" }, say(`decide.outcome.${found.verdict.outcome}`)),
    make("p", { class: `banner ${outcome}`, id: "standing" }, stands(found.standing)),
    ...found.problems.map((line) => own("p", line, { class: "problem" })),
    found.dossier && found.signed.length
      ? make("p", { class: "row" }, make("a", { class: "button", href: "/api/answer", id: "answer" }, say("officer.answer")))
      : null,
  );
  if (sheet.dataset.digest !== found.digest + outcome) {
    sheet.dataset.digest = found.digest + outcome;
    refill(
      sheet,
      make("p", { class: "small" }, say("officer.digest", { digest: found.digest.slice(0, 16) })),
      make(
        "p",
        { class: "row" },
        make("a", { class: "button", href: `/api/sheet/page?lang=${language}`, target: "_blank", rel: "noopener" }, say("decide.open")),
      ),
      make("iframe", { class: "sheet", src: `/api/sheet/page?lang=${language}`, title: say("decide.sheet") }),
    );
  }
  refill(
    history,
    found.signed.length ? part(say("officer.signed"), make("ul", { class: "bullets" }, ...found.history.map((one) => make("li", {}, stands(one))))) : null,
  );
}

/** Do something that answers with the case; what goes wrong is told at its field. */
async function act(doing) {
  try {
    show(await doing());
    problem(null);
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    problem(error);
    return false;
  }
}

const inputs = {
  name: make("input", { type: "text", autocomplete: "name", maxlength: 200 }),
  role: make("input", { type: "text", autocomplete: "organization-title", maxlength: 200 }),
  opinion: make("textarea", { rows: 3 }),
  reason: make("input", { type: "text", maxlength: 500 }),
  conditions: make("textarea", { rows: 3 }),
  until: make("input", { type: "date", max: "9999-12-31" }),
  passphrase: make("input", { type: "password", autocomplete: "off" }),
};

const said = (decision) => ({
  name: inputs.name.value.trim(),
  role: inputs.role.value.trim(),
  decision,
  opinion: inputs.opinion.value.trim(),
  reason: inputs.reason.value.trim(),
  conditions: inputs.conditions.value
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean),
  until: inputs.until.value,
  passphrase: inputs.passphrase.value || null,
  sheet: now.digest,
  signed: now.history.length,
});

/** What must be said first: who decides; why, where the evidence does not speak for it; and why what stood does not. */
function lacking(decision) {
  const without = ["name", "role"].find((key) => !inputs[key].value.trim());
  if (without) return { field: `officer.${without}`, message: say("decide.lacking.who") };
  const reasoned = decision === "withdrawn" || (decision === "approved" && now.verdict.outcome !== "for");
  return reasoned && !inputs.reason.value.trim() ? { field: "officer.reason", message: say(`decide.lacking.${decision}`) } : null;
}

function form() {
  const fields = ["name", "role", "opinion", "reason", "conditions", "until", "passphrase"].map((key) =>
    field(`officer.${key}`, say(`decide.${key}`), inputs[key], say(`decide.${key}.hint`)),
  );
  const sure = make("dialog", { class: "sure", "aria-labelledby": "sure-title" });
  const sign = (decision) => async () => {
    sure.close();
    const path = decision === "withdrawn" ? "/api/withdraw" : "/api/decide";
    if (await act(() => ask("POST", path, said(decision)))) {
      changed.hidden = true;
      inputs.passphrase.value = "";
      says(say(`decide.signed.${decision}`));
    } else show(await ask("GET", "/api/case").catch(() => now));
  };
  const confirm = (decision) => (event) => {
    event.preventDefault();
    if (!now) return; // the case is not there yet, or cannot be read, which is said
    problem(lacking(decision));
    if (lacking(decision)) return;
    sure.replaceChildren(
      make("h2", { id: "sure-title" }, say(`decide.sure.${decision}`)),
      make("p", {}, say(`decide.sure.${decision}.text`)),
      make(
        "p",
        { class: "row" },
        make("button", { type: "button", onclick: () => sure.close(), autofocus: true }, say("decide.not_yet")),
        make(
          "button",
          { type: "button", class: decision === "approved" ? "main" : "danger", id: "sure", onclick: sign(decision) },
          say(`decide.do.${decision}`),
        ),
      ),
    );
    sure.showModal();
  };
  const button = (id, decision, kind, options = {}) =>
    make("button", { class: kind, id, ...options, onclick: confirm(decision) }, say(`decide.${id}`));
  return make(
    "form",
    { class: "officer", onsubmit: confirm("approved") },
    ...fields,
    make(
      "p",
      { class: "row" },
      button("approve", "approved", "main"),
      button("refuse", "refused", "danger", { type: "button" }),
      button("withdraw", "withdrawn", "danger", { type: "button" }),
    ),
    sure,
  );
}

const signs = make("p", { class: "small" });
screen.append(changed, standing, sheet, part(say("decide.sign"), make("p", { class: "lead" }, say("decide.sign.lead")), signs, form()), history);
await act(() => ask("GET", "/api/case"));
if (now) inputs.name.value = now.who.name;
if (now?.who.fingerprint) signs.append(say("officer.key", { key: `${now.who.fingerprint.slice(0, 16)}…` }));
document.body.dataset.ready = "yes";

/** Whoever comes back to the page sees the case as it is now. */
addEventListener("focus", () => act(() => ask("GET", "/api/case")));
