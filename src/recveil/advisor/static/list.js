/** A list of items with their counts, each with its <click-advisor>. Rows are kept, so that focus stays where it is. */

import { make } from "./dom.js";
import { people, say } from "./words.js";

/**
 * A function that shows items in this element. Rows neither come nor go nor move while a pointer is down on one of them
 * (it would come up elsewhere, and the click be lost) or while one asks (its dialog would go with it): what is wanted
 * meanwhile is shown afterwards.
 */
export function list(parent, state) {
  const rows = new Map();
  let [pressed, late] = [false, null];
  const asks = () => [...rows.values()].some((row) => row.querySelector("click-advisor").asks);

  function show(items, profiles) {
    late = pressed || asks() ? [items, profiles] : null;
    if (!late) arrange(items);
    for (const [item, row] of rows) fill(row, item, state, profiles);
  }

  function arrange(items) {
    const wanted = new Set(items);
    for (const [item, row] of rows) {
      if (wanted.has(item)) continue;
      row.remove();
      rows.delete(item);
    }
    items.forEach((item, k) => {
      if (!rows.has(item)) rows.set(item, makeRow(item, state));
      const row = rows.get(item);
      if (parent.children[k] !== row) parent.insertBefore(row, parent.children[k] ?? null);
    });
  }

  const settle = () => late && show(...late);
  parent.addEventListener("pointerdown", () => (pressed = true));
  for (const type of ["pointerup", "pointercancel"]) {
    document.addEventListener(type, () => pressed && setTimeout(() => ((pressed = false), settle()))); // the click is next
  }
  for (const type of ["advised-click", "advised-cancel"]) parent.addEventListener(type, settle);
  return show;
}

function makeRow(item, state) {
  const title = state.titles.get(item) ?? item;
  return make(
    "li",
    { class: "item", tabindex: "-1" },
    make("div", { class: "about" }, make("h3", {}, title), make("p", { class: "counts" })),
    make("click-advisor", { item, "item-title": title, api: state.table.api }),
  );
}

function fill(row, item, state, profiles) {
  const [counts, advisor] = [row.querySelector(".counts"), row.querySelector("click-advisor")];
  const profile = profiles.get(item);
  const about = state.table.blur.deviation > 0;
  const few = profile === null ? [about ? say("too_few") : say("fewer", { people: people(state.table.least) })] : [];
  counts.replaceChildren(...(profile ? balance(...profile, about) : few));
  const wanted = {
    value: state.clicks.find((click) => click.item === item)?.sign,
    strategy: state.strategy || null,
    choices: state.choices || null,
    auto: state.auto ? "" : null,
  };
  for (const [name, value] of Object.entries(wanted)) {
    if (value == null) advisor.removeAttribute(name);
    else if (advisor.getAttribute(name) !== value) advisor.setAttribute(name, value);
  }
}

function balance(likes, dislikes, about) {
  const bar = make("span", { class: "balance", "aria-hidden": "true" }, make("i"));
  bar.firstChild.style.width = `${(100 * likes) / Math.max(likes + dislikes, 1)}%`;
  return [bar, make("span", {}, say(about ? "counts.about" : "counts", { likes, dislikes }))];
}
