/** Privacy against use: a mark for each candidate, to click or to reach by keyboard; up and left is better. */

import { make } from "/shared/dom.js";
import { apart, figure, numbers } from "./picture.js";
import { percent, say } from "./words.js";

const [LEFT, TOP, BOTTOM, RIGHT] = [66, 16, 48, 20];
const BETWEEN = 25; // pixels between the middles of two marks, which are 22 wide
const [AWAY, WIDE] = [21, 7.6]; // of a name: from a point, and a letter
const within = (value, low, high) => Math.min(Math.max(value, low), high);

/**
 * points: [{id, key, name, colour, found: {value, low, high}, kept: {value, low, high}}]; limits: {found, kept}, which
 * bound the corner where a release is good enough; chosen: an id; choose: called with the id of what was clicked.
 */
export function frontier(points, { limits, chosen, choose, known }) {
  const cell = (m) => `${percent(m.value)} [${percent(m.low)}, ${percent(m.high)}]`;
  const rows = points.map((p) => [`${p.key} ${p.name}`, cell(p.found), cell(p.kept)]);
  const table = points.length
    ? numbers([say("frontier.candidate"), say("frontier.found"), say("frontier.kept")], rows)
    : null;
  return figure((width) => drawn(points, width, { limits, chosen, choose, known }), say("frontier.caption"), table);
}

function drawn(points, width, { limits, chosen, choose, known }) {
  const narrow = width < 480;
  const height = narrow ? 330 : 400;
  const most = within(Math.max(0.2, limits.found * 1.6, ...points.map((p) => p.found.high)) + 0.05, 0, 1);
  const [low, high] = [Math.min(-0.1, ...points.map((p) => within(p.kept.low, -0.5, 1.2))) - 0.04, 1.12];
  const x = (v) => LEFT + ((width - LEFT - RIGHT) * within(v, 0, most)) / most;
  const y = (v) => TOP + ((height - TOP - BOTTOM) * (high - within(v, low, high))) / (high - low);
  const corner = make("rect", {
    class: "corner",
    x: LEFT,
    y: TOP,
    width: x(limits.found) - LEFT,
    height: Math.max(y(limits.kept) - TOP, 0),
  });
  return make(
    "svg",
    {
      class: "picture frontier",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": say("frontier.says", { number: points.length }),
    },
    corner,
    !narrow && make("text", { class: "good", x: LEFT + 8, y: TOP + 18 }, say("frontier.good")),
    ...levels(y, width),
    ...ticks(x, most, height),
    make(
      "text",
      { x: LEFT + (width - LEFT - RIGHT) / 2, y: height - 6, "text-anchor": "middle" },
      say(narrow ? "frontier.across_short" : "frontier.across", { known }),
    ),
    make(
      "text",
      {
        x: 14,
        y: TOP + (height - TOP - BOTTOM) / 2,
        "text-anchor": "middle",
        transform: `rotate(-90 14 ${TOP + (height - TOP - BOTTOM) / 2})`,
      },
      say("frontier.up"),
    ),
    ...marks(points, x, y, { chosen, choose, narrow, width, height }),
  );
}

function levels(y, width) {
  return [0, 0.5, 1].flatMap((v) => [
    make("line", { class: v === 0.5 ? "grid" : "grid strong", x1: LEFT, x2: width - RIGHT, y1: y(v), y2: y(v) }),
    make("text", { x: LEFT - 8, y: y(v) + 4, "text-anchor": "end" }, percent(v)),
    v !== 0.5 &&
      make(
        "text",
        { class: "aside", x: LEFT + 0.36 * (width - LEFT - RIGHT), y: y(v) - 6 },
        say(v ? "frontier.real" : "frontier.popular"),
      ),
  ]);
}

function ticks(x, most, height) {
  const step = most > 0.6 ? 0.2 : most > 0.3 ? 0.1 : 0.05;
  const at = Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, k) => k * step);
  return at.map((v) => make("text", { x: x(v), y: height - BOTTOM + 20, "text-anchor": "middle" }, percent(v)));
}

function marks(points, x, y, { chosen, choose, narrow, width, height }) {
  const heights = apart(
    points.map((p) => y(p.kept.value)),
    17,
    TOP + 8,
    height - BOTTOM - 4,
  );
  const true_ = points.map((p) => [x(p.found.value), y(p.kept.value)]);
  const spots = parted(true_, LEFT, width - RIGHT, TOP, height - BOTTOM);
  return points.map((p, k) => {
    const [px, py] = spots[k];
    const [tx, ty] = true_[k];
    const left = px > width * 0.55;
    const act = (event) => {
      if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(p.id);
    };
    const says = say("frontier.point", {
      name: `${p.key} ${p.name}`,
      found: percent(p.found.value),
      kept: percent(p.kept.value),
    });
    return make(
      "g",
      {
        class: `mark ${p.colour}`,
        role: "button",
        tabindex: 0,
        "data-key": p.id,
        "aria-pressed": String(p.id === chosen),
        "aria-label": says,
        onclick: act,
        onkeydown: act,
      },
      make("line", { class: "whisker", x1: x(p.found.low), x2: x(p.found.high), y1: ty, y2: ty }),
      make("line", { class: "whisker", x1: tx, x2: tx, y1: y(p.kept.low), y2: y(p.kept.high) }),
      Math.hypot(px - tx, py - ty) > 1 && make("line", { class: "leader", x1: tx, y1: ty, x2: px, y2: py }),
      make("circle", { class: "target", cx: px, cy: py, r: 20 }),
      make("circle", { class: "ring", cx: px, cy: py, r: 15 }),
      make("circle", { class: "point", cx: px, cy: py, r: 11 }),
      make("text", { "aria-hidden": "true", class: "letter", x: px, y: py + 4.5, "text-anchor": "middle" }, p.key),
      " ", // between the two words that are seen, as in the name that is heard
      !narrow &&
        make(
          "text",
          {
            "aria-hidden": "true",
            class: "label",
            x: beside(px, heights[k], p.name, left ? -1 : 1, spots),
            y: heights[k] + 4,
            "text-anchor": left ? "end" : "start",
          },
          p.name,
        ),
    );
  });
}

/** Marks that would hide each other are moved apart, a little each time; a line leads to where each belongs. */
function parted(spots, left, right, top, bottom) {
  const placed = spots.map(([x, y]) => [x, y]);
  for (let round = 0; round < 200; round++) {
    let moved = false;
    for (let a = 0; a < placed.length; a++)
      for (let b = 0; b < a; b++) {
        let [dx, dy] = [placed[a][0] - placed[b][0], placed[a][1] - placed[b][1]];
        const near = Math.hypot(dx, dy);
        if (near >= BETWEEN) continue;
        if (near < 0.5) [dx, dy] = [Math.cos(a + 1), Math.sin(a + 1)]; // on the same spot: a direction of its own
        const push = (BETWEEN - near) / 2 / Math.hypot(dx, dy);
        for (const [k, sign] of [[a, 1], [b, -1]])
          placed[k] = [
            within(placed[k][0] + sign * push * dx, left, right),
            within(placed[k][1] + sign * push * dy, top, bottom),
          ];
        moved = true;
      }
    if (!moved) break;
  }
  return placed;
}

/** Where a name begins that stands at this side of its point: beyond every other point that it would run over. */
function beside(at, height, name, side, spots) {
  const length = WIDE * name.length;
  const near = spots.filter(([, y]) => Math.abs(y - height) < 19).map(([x]) => side * x);
  let begin = side * at + AWAY;
  for (const x of near.sort((a, b) => a - b))
    if (x > begin - AWAY && x < begin + length + AWAY) begin = Math.max(begin, x + AWAY);
  return side * begin;
}
