/**
 * The zone picture: across, how many agree with the pre-click (right) or not (left); up, how many have clicked at all.
 *
 * Zones depend on popularity p and on t, the balance of opinion among those who clicked (preferability = t p, negative
 * if most disagree). Their borders are p = 2/(3+t), p = 2/(3-t) and t = 0. Height is the square root of p, so that
 * rare items do not crowd in the tip.
 */

import { make } from "./dom.js";
import { VERBS, ZONE_NAMES, say } from "./words.js";

const [WIDTH, HEIGHT, MIDDLE, HALF, TOP, TIP, MARGIN] = [336, 296, 150, 144, 24, 268, 14]; // margin: large text
const place = (t, p) => [MIDDLE + t * Math.sqrt(p) * HALF, TIP - Math.sqrt(p) * (TIP - TOP)];
const at = (t, p) => place(t, p).map((v) => v.toFixed(1)).join(" ");
const path = (...points) => `M${points.map(([t, p]) => at(t, p)).join("L")}Z`;

/** Points of a border between two balances. */
const border = (from, to, height) =>
  Array.from({ length: 21 }, (_, k) => from + ((to - from) * k) / 20).map((t) => [t, height(t)]);
const risky = (t) => 2 / (3 + t); // above it, the click hides its person
const reverse = (t) => 2 / (3 - t); // above it, the opposite click would

const REGIONS = [
  ["safe", path(...border(0, 1, risky), [1, 1], [0, 1])],
  ["trade_off", path([0, 0], ...border(0, 1, risky))],
  ["trade_off", path(...border(0, -1, risky), [0, 1])],
  ["dangerous", path(...border(0, -1, risky), ...border(-1, 0, reverse))],
  ["deleterious", path([0, 0], ...border(0, -1, reverse))],
];
const NAMES = [
  ["safe", 0.5, 0.8, "middle"],
  ["dangerous", -0.55, 0.71, "middle"],
  ["deleterious", -1.25, 0.12, "end"], // beside their zones, which are narrow
  ["trade_off", 1.25, 0.12, "start"],
];
const TICKS = [[0.05, "5%"], [0.25, "25%"], [0.5, "50%"], [1, "100%"]];

const whereabouts = ({ a, b, n }) => place((a - b + 0.5) / (a + b + 0.5), (a + b + 0.5) / n);

/** Many pre-clicks at once, [{a, b, n, zone, doubt}]: a dot each; those near a border are hollow. */
export function allPicture(preclicks, label) {
  const dots = preclicks.map((one) => {
    const [x, y] = whereabouts(one);
    return make("circle", { class: `all ${one.zone}${one.doubt ? " near" : ""}`, cx: x.toFixed(1), cy: y.toFixed(1), r: 2.6 });
  });
  return make(
    "svg",
    { class: "zones", viewBox: `${-MARGIN} 0 ${WIDTH + 2 * MARGIN} ${HEIGHT}`, role: "img", "aria-label": label },
    ...REGIONS.map(([zone, d]) => make("path", { class: `region ${zone}`, d })),
    ...dots,
    make("text", { class: "axis", x: MIDDLE + 12, y: HEIGHT - 5 }, say("picture.agree")),
    make("text", { class: "axis", x: MIDDLE - 12, y: HEIGHT - 5, "text-anchor": "end" }, say("picture.disagree")),
  );
}

/** The picture, and `show(state)` to move its mark; state: {a, b, n, sign, zone}, or null where the zone is unknown. */
export function zonePicture() {
  const regions = REGIONS.map(([zone, d]) => make("path", { class: `region ${zone}`, d }));
  const names = NAMES.map(([zone, t, p, anchor]) => {
    const [x, y] = place(t, p);
    return make("text", { class: `name ${zone}`, x, y: y + 4, "text-anchor": anchor }, ZONE_NAMES[zone]);
  });
  const ticks = TICKS.flatMap(([p, name]) => {
    const [[left, y], [right]] = [place(-1, p), place(1, p)];
    return [
      p < 1 && make("path", { class: "grid", d: `M${left} ${y}H${right}` }),
      make("text", { class: "tick", x: right + 5, y: y + 4 }, name),
    ];
  });
  const mark = make("g", {}, make("circle", { class: "halo", r: 12 }), make("circle", { class: "dot", r: 7 }));
  const ring = make("circle", { r: 5.5 });
  const drawing = make(
    "svg",
    { class: "zones", viewBox: `${-MARGIN} 0 ${WIDTH + 2 * MARGIN} ${HEIGHT}`, role: "img" },
    ...regions,
    ...ticks,
    ...names,
    make("text", { class: "axis", x: MIDDLE + 12, y: HEIGHT - 5 }, say("picture.agree")),
    make("text", { class: "axis", x: MIDDLE - 12, y: HEIGHT - 5, "text-anchor": "end" }, say("picture.disagree")),
    make("text", { class: "tick", x: WIDTH, y: 12, "text-anchor": "end" }, say("picture.share")),
    ring,
    mark,
  );

  function show(state) {
    mark.setAttribute("class", state ? `mark ${state.zone}` : "gone");
    ring.setAttribute("class", state ? "ring" : "gone");
    for (const region of regions) region.classList.remove("here");
    if (!state) {
      drawing.setAttribute("aria-label", say("picture.unknown"));
      return;
    }
    const { a, b, n, sign, zone } = state;
    // Halfway between before and after the click, where the borders are those of the exact integer signs.
    const [p, t] = [(a + b + 0.5) / n, (a - b + 0.5) / (a + b + 0.5)];
    const [x, y] = place(t, p);
    const [otherX, otherY] = place((b - a + 0.5) / (a + b + 0.5), p);
    mark.style.transform = `translate(${x}px, ${y}px)`;
    ring.style.transform = `translate(${otherX}px, ${otherY}px)`;
    const tradeOff = t > 0 ? 1 : 2;
    const here = zone === "trade_off" ? tradeOff : REGIONS.findIndex(([name]) => name === zone);
    regions[here].classList.add("here");
    const share = Math.round((100 * (a + 1)) / (a + b + 1));
    drawing.setAttribute(
      "aria-label",
      say(`${VERBS[sign]}.picture`, { zone: say(`zone.${zone}.word`), clicked: Math.round(100 * p), share }),
    );
  }
  return { drawing, show };
}
