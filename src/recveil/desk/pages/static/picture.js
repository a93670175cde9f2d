/** What all pictures share: drawn to the width they have, so that letters keep their size; a table beside each. */

import { make } from "/shared/dom.js";
import { say } from "./words.js";

/** A figure that is drawn again when its width changes; draw(width) gives an svg. What had the focus keeps it. */
export function figure(draw, caption, table) {
  const place = make("div", { class: "drawn" });
  let last = 0;
  const paint = (width) => {
    const key = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    place.replaceChildren(draw(width));
    if (key) place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
  };
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width > 0 && width !== last) {
      last = width;
      paint(width);
    }
  }).observe(place);
  return make("figure", {}, place, caption && make("figcaption", {}, caption), table);
}

/** The numbers of a picture, for those who would rather read: head is a list of words, rows lists of cells. */
export function numbers(head, rows) {
  const cell = (value, k) => (k ? make("td", {}, value) : make("th", { scope: "row" }, value));
  const titles = head.map((word) => make("th", { scope: "col" }, word));
  return make(
    "details",
    { class: "numbers" },
    make("summary", {}, say("picture.numbers")),
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": say("picture.numbers") },
      make(
        "table",
        {},
        make("thead", {}, make("tr", {}, ...titles)),
        make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))),
      ),
    ),
  );
}

/** A line through points. */
export const path = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** Push labels at one side apart: heights in, heights out, at least `gap` between any two and none above `top`. */
export function apart(heights, gap, top, bottom) {
  const order = heights.map((_, k) => k).sort((a, b) => heights[a] - heights[b]);
  const placed = [...heights];
  let free = top;
  for (const k of order) {
    placed[k] = Math.max(placed[k], free);
    free = placed[k] + gap;
  }
  let limit = bottom;
  for (const k of order.reverse()) {
    placed[k] = Math.min(placed[k], limit);
    limit = placed[k] - gap;
  }
  return placed;
}
