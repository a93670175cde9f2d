/**
 * What a click gives its person, and what it gives away: the integer formulas of `recveil.clicks`, in the browser.
 *
 * Everything follows from the public item profiles, so that a pre-click need not leave the device. Before the click,
 * `a` people had clicked with the same sign, `b` with the opposite one; she who clicks is in neither. Signs decide
 * zones, and they are exact; logarithms only tell how far.
 */

/** One unit of the logarithm with each base, in natural ones. */
export const UNITS = { e: 1, 2: Math.LN2, 10: Math.LN10 };

const BASIC = { trade_off: "confirm", safe: "confirm", dangerous: "confirm", deleterious: "confirm" };
const CAREFUL = { ...BASIC, dangerous: "cancel", deleterious: "cancel" };
const SMART = { ...CAREFUL, dangerous: "change" };

/** What to do with a pre-click in each zone. */
export const STRATEGIES = { basic: BASIC, careful: CAREFUL, smart: SMART };

export const popularity = (likes, dislikes, people) => (likes + dislikes) / people;
export const preferability = (likes, dislikes, people) => (likes - dislikes) / people;

/** Popularity times preferability: what the many think of an item. */
export const mainstream = (likes, dislikes, people) => ((likes + dislikes) * (likes - dislikes)) / people ** 2;

/** The zone of a click with these signs; no change in commonality is no gain. */
export function zone(c, d, r) {
  if (c > 0) return d < 0 ? "safe" : "trade_off";
  if (d < 0) return "trade_off";
  return r < 0 ? "dangerous" : "deleterious";
}

/**
 * The effect of a like (1) or dislike (-1) by someone new to an item, given its profile before the click.
 *
 * `reverse` is the change in disclosure if she clicked the opposite instead.
 */
export function effect(likes, dislikes, people, sign, base = "e") {
  if (![likes, dislikes, people].every(Number.isSafeInteger) || Math.min(likes, dislikes) < 0) {
    throw new RangeError(`counts must be whole and not negative: ${likes}, ${dislikes}, ${people}`);
  }
  if (likes + dislikes >= people) throw new RangeError("everyone has clicked on this item");
  if (sign !== 1 && sign !== -1) throw new RangeError(`a click is a like (1) or a dislike (-1), not ${sign}`);
  if (!Object.hasOwn(UNITS, base)) throw new RangeError(`unknown base ${base}`);
  const [a, b] = sign > 0 ? [likes, dislikes] : [dislikes, likes];
  const risk = (same) => Math.log((people - a - b) / (same + 1)) / UNITS[base];
  const signs = [a + 1 - b, people - 2 * a - b - 1, people - a - 2 * b - 1].map((x) => (x > 0) - (x < 0));
  return {
    commonality: ((a + b + 1) * (a + 1 - b)) / people ** 2,
    disclosure: risk(a),
    reverse: risk(b),
    signs,
    zone: zone(...signs),
  };
}

const SURE = 1.64; // deviations of a margin: beyond it, 19 of 20 such margins have the sign that they show

/**
 * Whether noise in the counts leaves the zone in doubt: a margin that decides it is small beside its own deviation.
 * `deviation` is that of each count, `crowd` that of the number of people.
 */
export function inDoubt(a, b, people, { deviation, crowd }) {
  const [c, d, r] = [a + 1 - b, people - 2 * a - b - 1, people - a - 2 * b - 1];
  const near = (margin, spread) => Math.abs(margin) < SURE * spread;
  const far = Math.hypot(crowd, Math.sqrt(5) * deviation);
  return near(c, Math.SQRT2 * deviation) || near(d, far) || (c <= 0 && d >= 0 && near(r, far));
}

/** The chance that a normal number lies beyond x deviations on one side (Abramowitz and Stegun 26.2.17). */
function beyond(x) {
  const t = 1 / (1 + 0.2316419 * x);
  const powers = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const sum = powers.reduceRight((total, one) => t * (one + total), 0);
  return (Math.exp(-(x * x) / 2) / Math.sqrt(2 * Math.PI)) * sum;
}

/** How often a zone that is told from counts like these is another one in truth: at most, since a margin or another errs. */
export function errs(a, b, people, { deviation, crowd }) {
  if (!deviation) return 0;
  const [c, d, r] = [a + 1 - b, people - 2 * a - b - 1, people - a - 2 * b - 1];
  const far = Math.hypot(crowd, Math.sqrt(5) * deviation);
  const chance = (margin, spread) => beyond(Math.abs(margin) / spread);
  const sum = chance(c, Math.SQRT2 * deviation) + chance(d, far) + (c <= 0 && d >= 0 ? chance(r, far) : 0);
  return Math.min(sum, 1);
}

/** A profile without her own click; where it is hidden, she counts as if she were alone. */
export function without(profile, sign) {
  const [likes, dislikes] = profile ?? (sign > 0 ? [1, 0] : [0, 1]);
  return sign > 0 ? [likes - 1, dislikes] : [likes, dislikes - 1];
}

/**
 * Her commonality and disclosure after none, one, two ... of her clicks, as the item profiles stand now.
 *
 * `clicks`: [{item, sign}] in her order. `profiles`: a Map of every item to [likes, dislikes], her own clicks among
 * them, or to null where they are hidden because so few people clicked. `others`: what not clicking any item beside
 * these gives away, in natural units.
 */
export function timeline(clicks, profiles, people, base = "e", others = 0) {
  const before = new Map(profiles);
  for (const { item, sign } of clicks) before.set(item, without(profiles.get(item), sign));
  let [commonality, disclosure] = [0, others / UNITS[base]];
  for (const profile of before.values()) {
    const [likes, dislikes] = profile ?? [0, 0];
    disclosure += Math.log(people / Math.max(people - likes - dislikes, 1)) / UNITS[base];
  }
  const told = [{ clicks: 0, commonality, disclosure }];
  for (const { item, sign } of clicks) {
    const change = effect(...before.get(item), people, sign, base);
    commonality += change.commonality;
    disclosure += change.disclosure;
    told.push({ clicks: told.length, commonality, disclosure });
  }
  return told;
}
