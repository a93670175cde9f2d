/** What is kept at which strength of protection: the curve along which the settings were found. */

import { make } from "/shared/dom.js";
import { figure, numbers, path } from "./picture.js";
import { choices } from "./state.js";
import { interval, known, percent, say } from "./words.js";

const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [54, 20, 14, 44, 230];

/** What a try keeps, of lists or of ratings; nothing where it was refused. */
export const kept = (point) => point.lift ?? point.skill;

const LARGER = new Set(["k"]); // parameters that protect more the larger they are

/** All tries, the strongest protection first. */
export function tries({ parameter, curve }) {
  const sign = LARGER.has(parameter) ? -1 : 1;
  return curve.map((point) => ({ at: point[parameter], ...point })).sort((a, b) => sign * (a.at - b.at));
}

/** one: {parameter, curve: [{<parameter>, lift or skill: {value, low, high}} | {<parameter>, refused}], value}. */
export function strengths(one) {
  const { parameter, value: chosen } = one;
  const tried = tries(one);
  const held = tried.filter(kept);
  const rows = tried.map((point) => [
    String(point.at),
    kept(point) ? `${percent(kept(point).value)} ${interval(kept(point))}` : say("strengths.refused"),
  ]);
  const table = numbers([known(`parameter.${parameter}`, parameter).text, say("strengths.kept")], rows);
  return figure((width) => drawn(held, chosen, parameter, width), say("strengths.caption"), table);
}

function drawn(held, chosen, parameter, width) {
  const top = Math.max(1, ...held.map((p) => kept(p).high));
  const x = (k) => LEFT + ((width - LEFT - RIGHT) * k) / Math.max(held.length - 1, 1);
  const y = (v) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * Math.min(Math.max(v, 0), top)) / top;
  const keep = choices().use.keep;
  const level = (v) => [
    make("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(v), y2: y(v) }),
    make("text", { x: LEFT - 8, y: y(v) + 4, "text-anchor": "end" }, percent(v)),
  ];
  const mark = (p, k) =>
    make("circle", {
      class: `dot ${p.at === chosen ? "s2" : "s1"}`,
      cx: x(k),
      cy: y(kept(p).value),
      r: p.at === chosen ? 7 : 3.5,
    });
  const every = Math.ceil(held.length / Math.max(2, Math.floor(width / 60)));
  return make(
    "svg",
    {
      class: "picture",
      viewBox: `0 0 ${width} ${HEIGHT}`,
      width,
      height: HEIGHT,
      role: "img",
      "aria-label": say("strengths.says", { parameter, value: String(chosen) }),
    },
    ...[0, 0.5, 1].flatMap(level),
    make("line", { class: "wanted", x1: LEFT, x2: width - RIGHT, y1: y(keep), y2: y(keep) }),
    make(
      "text",
      { class: "aside", x: width - RIGHT, y: y(keep) + 15, "text-anchor": "end" },
      say("strengths.wanted", { share: percent(keep) }),
    ),
    ...held.map((p, k) =>
      make("line", { class: "whisker s1", x1: x(k), x2: x(k), y1: y(kept(p).low), y2: y(kept(p).high) }),
    ),
    make("path", { class: "line s1", d: path(held.map((p, k) => [x(k), y(kept(p).value)])) }),
    ...held.map(mark),
    ...held.map((p, k) =>
      k % every && p.at !== chosen
        ? ""
        : make("text", { x: x(k), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, String(p.at)),
    ),
    make(
      "text",
      { x: LEFT + (width - LEFT - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" },
      say(width < 480 ? "strengths.across_short" : "strengths.across", { parameter }),
    ),
  );
}
