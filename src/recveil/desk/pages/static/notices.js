/** What is said to the reader: a passing line at the bottom, progress for those who listen, problems at their field. */

import { make } from "/shared/dom.js";
import { own } from "./own.js";
import { say } from "./words.js";

const status = document.getElementById("status");
const heard = document.getElementById("heard");
let fading;

/** A line at the bottom, which a screen reader says; it stays where `stays`. */
export function says(text, stays = false) {
  clearTimeout(fading);
  status.replaceChildren(text);
  if (!stays) fading = setTimeout(() => status.replaceChildren(), 7000);
}

/** Say it once the page has been loaded anew. */
export function sayAfterReload(text, at = null) {
  sessionStorage.setItem(SAID, text);
  if (at) location.assign(at);
  else location.reload();
}

const SAID = "recveil-desk-said";
const before = sessionStorage.getItem(SAID);
if (before) says(before);
sessionStorage.removeItem(SAID);

/** Progress, for ears alone; not more often than every few seconds, unless it is the end. */
let last = 0;
export function hear(text, end = false) {
  if (heard.textContent === text || (!end && Date.now() - last < 8000)) return;
  last = Date.now();
  heard.textContent = text;
}

/** Show a problem at the field that it concerns, or above the screen; null takes the last one away. */
export function problem(error) {
  document.getElementById("problem")?.remove();
  for (const field of document.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  }
  if (!error) return;
  const line = make(
    "p",
    { class: "problem", role: "alert", id: "problem" },
    make("b", {}, say("problem.title")),
    " ",
    error.own ? own("span", error.message) : make("span", {}, error.message),
  );
  const field = error.field && document.querySelector(`[data-field="${CSS.escape(error.field)}"]`);
  if (!field) {
    document.getElementById("screen").prepend(line);
    line.scrollIntoView({ block: "nearest" });
    return;
  }
  const folded = field.closest("details");
  if (folded) folded.open = true;
  (field.closest(".field") ?? field).append(line);
  const input = field.matches("input, select, textarea") ? field : field.querySelector("input, select, textarea");
  input?.setAttribute("aria-invalid", "true");
  input?.setAttribute("aria-describedby", "problem");
  input?.focus();
}
