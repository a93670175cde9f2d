/** The plainest pieces: a labelled input, a section, sentences; they know nothing of the desk. */

import { make } from "/shared/dom.js";

/** A labelled input with a hint. */
export function field(name, label, input, hint) {
  const id = `field-${name.replaceAll(".", "-")}`;
  input.id = id;
  input.dataset.field = name;
  return make(
    "div",
    { class: "field" },
    make("label", { for: id }, label),
    hint && make("p", { class: "small" }, hint),
    input,
  );
}

/** Replace what a place holds; who was in it with the keyboard stays at the same button. */
export function refill(place, ...children) {
  const key = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  place.replaceChildren(...children.filter(Boolean));
  if (key) place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

/** A section with its title. */
export const part = (title, ...children) => make("section", {}, make("h2", {}, title), ...children);
