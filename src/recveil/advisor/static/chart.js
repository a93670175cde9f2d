/** Her timeline: commonality and disclosure after each click, over the number of clicks, which disclosure follows. */

import { make } from "./dom.js";
import { number, say } from "./words.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [340, 118, 40, 10, 12, 22];

/** A number with as many digits as its range needs. */
export function short(value, range = Math.abs(value)) {
  const digits = range >= 20 ? 0 : range >= 2 ? 1 : range >= 0.2 ? 2 : 3;
  const shown = number(Number(value.toFixed(digits)) || 0, digits); // 0, not -0
  return shown.replace("-", "−");
}

/** One line over the number of clicks. told: [{clicks, commonality, disclosure}, ...], from before the first click. */
export function chart(told, name) {
  const values = told.map((step) => step[name]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const range = high - low || 1;
  const last = told.length - 1;
  const x = (k) => LEFT + ((WIDTH - LEFT - RIGHT) * k) / Math.max(last, 1);
  const y = (v) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * (v - low)) / range;
  const line = values.map((v, k) => `${k ? "L" : "M"}${x(k).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const level = (v) => [
    make("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v) }),
    make("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, short(v, range)),
  ];
  const [from, to] = [values[0], values[last]].map((value) => short(value, range));
  const says = say(`chart.${name}`, { clicks: last, from, to });
  return make(
    "svg",
    { class: `chart ${name}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": says },
    ...level(low),
    ...(high > low ? level(high) : []),
    make("path", { class: "line", d: line }),
    make("circle", { class: "end", cx: x(last), cy: y(values[last]), r: 4.5 }),
    make("text", { x: LEFT, y: HEIGHT - 4 }, "0"),
    make("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, say("chart.clicks", { n: last })),
  );
}
