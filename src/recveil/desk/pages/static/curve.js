/** How many people are found by somebody who knows 1, 2, 4, ... things of theirs, in the data and in releases. */

import { make } from "/shared/dom.js";
import { apart, figure, numbers, path } from "./picture.js";
import { percent, say } from "./words.js";

const [LEFT, TOP, BOTTOM, LETTER, NARROW] = [54, 14, 46, 8.8, 480];

/**
 * lines: [{name, key, colour, dashed, points: [{known, value, low, high}]}]. What lies between low and high is shaded
 * where there is one line alone.
 */
export function curve(lines, { says, items, marked = null }) {
  const shown = lines.filter((line) => line.points.length);
  const known = [...new Set(shown.flatMap((line) => line.points.map((p) => p.known)))].sort((a, b) => a - b);
  const at = (line, k) => line.points.find((p) => p.known === k);
  const cell = (p) => (p ? `${percent(p.value)} [${percent(p.low)}, ${percent(p.high)}]` : "");
  const table = numbers(
    [say("curve.known"), ...shown.map((l) => l.name)],
    known.map((k) => [String(k), ...shown.map((l) => cell(at(l, k)))]),
  );
  const draw = (width) => make("div", {}, drawn(shown, known, width, { says, items, marked }), legend(shown, width));
  return figure(draw, null, table);
}

/** The names of the lines, where the picture has no room for them. */
function legend(lines, width) {
  const sample = (line) =>
    make(
      "svg",
      { class: "picture", viewBox: "0 0 28 10", width: 28, height: 10, "aria-hidden": "true" },
      make("path", { class: `line ${line.colour}${line.dashed ? " dashed" : ""}`, d: "M1 5L27 5" }),
    );
  const entry = (line) => make("li", {}, sample(line), [line.key, line.name].filter(Boolean).join(" "));
  return width < NARROW && make("ul", { class: "legend" }, ...lines.map(entry));
}

function drawn(lines, known, width, { says, items, marked }) {
  const narrow = width < NARROW;
  const height = narrow ? 250 : 320;
  const right = narrow ? 34 : 16 + LETTER * Math.max(...lines.map((line) => line.name.length));
  const x = (k) => LEFT + ((width - LEFT - right) * known.indexOf(k)) / Math.max(known.length - 1, 1);
  const y = (v) => height - BOTTOM - (height - BOTTOM - TOP) * v;
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((v) => [
    make("line", { class: "grid", x1: LEFT, x2: width - right, y1: y(v), y2: y(v) }),
    make("text", { x: LEFT - 8, y: y(v) + 4, "text-anchor": "end" }, percent(v)),
  ]);
  const ticks = known.map((k) =>
    make("text", { x: x(k), y: height - BOTTOM + 20, "text-anchor": "middle" }, String(k)),
  );
  const middle = LEFT + (width - LEFT - right) / 2;
  const title = make(
    "text",
    { x: middle, y: height - 6, "text-anchor": "middle" },
    narrow ? items : say("curve.axis", { items }),
  );
  return make(
    "svg",
    { class: "picture", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": says },
    ...grid,
    ...ticks,
    title,
    ...(lines.length < 3 ? lines.filter((l) => !l.dashed).map((line) => band(line, x, y)) : []),
    ...lines.flatMap((line) => drawnLine(line, x, y, marked)),
    ...labels(lines, y, width - right + 10, height, narrow),
  );
}

function band(line, x, y) {
  const there = line.points.map((p) => [x(p.known), y(p.high)]);
  const back = [...line.points].reverse().map((p) => [x(p.known), y(p.low)]);
  return make("path", { class: `band ${line.colour}`, d: `${path([...there, ...back])}Z` });
}

function drawnLine(line, x, y, marked) {
  const dots = line.points.map((p) =>
    make("circle", { class: `dot ${line.colour}`, cx: x(p.known), cy: y(p.value), r: p.known === marked ? 6.5 : 3.5 }),
  );
  const strokes = make("path", {
    class: `line ${line.colour}${line.dashed ? " dashed" : ""}`,
    d: path(line.points.map((p) => [x(p.known), y(p.value)])),
  });
  return [strokes, ...(line.dashed ? [] : dots)];
}

/** Names at the ends of the lines; on a phone letters, or nothing: the legend below names them. */
function labels(lines, y, x, height, narrow) {
  const heights = apart(
    lines.map((line) => y(line.points.at(-1).value)),
    16,
    TOP,
    height - BOTTOM,
  );
  return lines.map((line, k) =>
    make("text", { class: `label ${line.colour}`, x, y: heights[k] + 4 }, narrow ? (line.key ?? "") : line.name),
  );
}
