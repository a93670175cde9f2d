/** Decide: the sheet of evidence, and the way to the officer and back; she signs with her own key, at her own door. */

import { make } from "/shared/dom.js";
import { action, part, refill } from "../pieces.js";
import { says } from "../notices.js";
import { ask, upload } from "../server.js";
import { act, now, watch, work } from "../state.js";
import { standing as stands } from "../standing.js";
import { language, say } from "../words.js";

export function show(root) {
  const sheet = make("div");
  const decided = make("div", { "aria-live": "polite" });
  root.append(decided, sheet, handOver(), takeBack());
  let seen = "";
  watch(async ({ results, steps, choices }) => {
    const key = [results.bundle, results["red-team"], results.claims, steps.decide.state, choices.recipient.name].join();
    if (key === seen) return; // not by the sheet's own tag: to look at it writes it
    seen = key;
    const found = results.bundle ? await ask("GET", `/api/sheet?lang=${language}`).catch(() => null) : null;
    refill(sheet, ...(found ? evidence(found) : [make("p", {}, say("decide.wait"))]));
    const { kind, standing } = steps.decide;
    refill(decided, kind ? make("p", { class: `banner ${kind}` }, stands(standing)) : null);
  });
}

/** What the rule says, what was not tried, and the sheet itself. */
function evidence(found) {
  const { verdict, attacks } = found;
  const missing = attacks.not_run.filter((gap) => !gap.asked || gap.needs);
  return [
    make("p", { class: `verdict outcome ${verdict.outcome}` }, say(`decide.outcome.${verdict.outcome}`)),
    missing.length || !found.measured
      ? make(
          "p",
          { class: "banner", role: "note" },
          found.measured ? say("red.not_run", { n: missing.length }) : say("decide.unmeasured"),
          " ",
          found.measured
            ? make("a", { href: "/red-team" }, say("decide.see_missing"))
            : action(say("red.attack"), () => work("red-team"), { id: "attack" }),
        )
      : null,
    ...verdict.sentences.map((line) => make("p", {}, line)),
    make(
      "details",
      {},
      make("summary", {}, say("decide.rule")),
      make("ul", { class: "bullets" }, ...verdict.rule.map((line) => make("li", {}, line))),
      make("p", {}, verdict.law),
    ),
    make(
      "p",
      { class: "row" },
      make(
        "a",
        { class: "button", href: `/api/sheet/page?lang=${language}`, target: "_blank", rel: "noopener" },
        say("decide.open"),
      ),
    ),
    make("iframe", { class: "sheet", src: `/api/sheet/page?lang=${language}`, title: say("decide.sheet") }),
  ];
}

/** To the officer: her own door to this folder, or one file. */
function handOver() {
  const { folder } = now().project;
  const quoted = /^[\w./~-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`;
  const line = `recveil desk --project ${quoted} --as officer --key HER.key`;
  return part(
    say("decide.hand"),
    make("p", { class: "lead" }, say("decide.hand.lead")),
    make("div", { class: "code" }, make("pre", { tabindex: 0 }, make("code", {}, line))),
    make("p", {}, say("decide.hand.file")),
    make("p", { class: "row" }, make("a", { class: "button main", href: "/api/dossier", id: "dossier", download: "dossier.zip" }, say("decide.dossier"))),
    make("p", { class: "small" }, say("decide.dossier.hint")),
  );
}

/** Back from her: her answer as a file. */
function takeBack() {
  const input = make("input", { type: "file", id: "answer", accept: ".zip" });
  input.addEventListener("change", async () => {
    if (!input.files.length) return;
    const went = await act(async () => {
      await upload(input.files[0], "answer", () => {});
      return ask("GET", "/api/state");
    });
    if (went) says(say("decide.taken"));
    input.value = "";
  });
  return part(
    say("decide.take"),
    make("p", { class: "lead" }, say("decide.take.lead")),
    make("div", { class: "field", "data-field": "officer.answer" }, make("label", { for: "answer" }, say("decide.take.file")), input),
  );
}
