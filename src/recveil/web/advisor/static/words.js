/** The effects of a pre-click in words. Sentences follow from counts and exact signs alone. */

export const ZONE_NAMES = {
  safe: "Safe",
  trade_off: "Trade-off",
  dangerous: "Dangerous",
  deleterious: "Deleterious",
  unknown: "Unknown",
};
export const UNIT_NAMES = { e: "nats", 2: "bits", 10: "digits" };
export const VERBS = { 1: "like", [-1]: "dislike" };

export const capital = (word) => word[0].toUpperCase() + word.slice(1);
export const count = (n) => n.toLocaleString("en");
export const people = (n) => (n === 1 ? "1 person" : `${count(n)} people`);

/** An amount of information, never negative; a trace of it is said to be so. */
export function amount(value, base) {
  const size = Math.abs(value);
  const [one, many] = [UNIT_NAMES[base].slice(0, -1), UNIT_NAMES[base]];
  if (size > 0 && size < 0.05) return `less than 0.1 ${one}`;
  const shown = size.toFixed(1);
  return `${shown} ${shown === "1.0" ? one : many}`;
}

/** "You would be one of 12 people who dislike this; 430 like it." */
export function company(a, b, sign, about = false) {
  const [same, other] = [VERBS[sign], VERBS[-sign]];
  if (about) return `You would be one of about ${people(a + 1)} who ${same} this; about ${count(b)} ${other} it.`;
  const others = b === 0 ? `nobody ${other}s it` : b === 1 ? `1 person ${other}s it` : `${count(b)} ${other} it`;
  const hers = a === 0 ? `the first to ${same} this` : `one of ${people(a + 1)} who ${same} this`;
  return `You would be ${hers}; ${others}.`;
}

/** What a zone means, in one line. */
export function verdict([c, d, r]) {
  const gain = c > 0 ? "Better recommendations" : c < 0 ? "Worse recommendations" : "No better recommendations";
  if (c > 0) {
    if (d < 0) return `${gain}, and you hide better in the crowd.`;
    return d > 0 ? `${gain}, but you stand out more.` : `${gain}, and your privacy stays as it is.`;
  }
  if (d < 0) return `${gain}, but you hide better in the crowd.`;
  const cost = d > 0 ? "you stand out more" : "your privacy stays as it is";
  return r < 0
    ? `${gain}, and ${cost}. The opposite click would hide you.`
    : `${gain}, and ${cost}. The opposite click would not hide you either.`;
}

/** Two lines: what the click does to her recommendations, and to her privacy. Each with its direction: 1 is good. */
export function lines(a, b, n, found, base) {
  const [c, d] = found.signs;
  const share = `${Math.round((100 * (a + 1)) / (a + b + 1))}% of those who clicked feel the same`;
  const gain =
    a + b === 0
      ? "Helped a little: you would be the first to say anything."
      : c > 0
        ? `Helped: with you, ${share}.`
        : c < 0
          ? `Hurt: with you, only ${share}.`
          : "Not helped: with you, opinions are even.";
  const [before, after] = [people(n - a - b), a === 0 ? "you alone" : count(a + 1)];
  const cost =
    d > 0
      ? `Costs ${amount(found.disclosure, base)}: the crowd you hide in shrinks from ${before} to ${after}.`
      : d < 0
        ? `Gains ${amount(found.disclosure, base)}: the crowd you hide in grows from ${before} to ${after}.`
        : `Unchanged: the crowd you hide in stays at ${before}.`;
  return [
    { name: "Recommendations", good: c, text: gain },
    { name: "Privacy", good: -d, text: cost },
  ];
}

/** What the opposite click would do instead. */
export function opposite(found, sign, base) {
  const r = found.signs[2];
  const would = `To ${VERBS[-sign]} it instead`;
  const costs =
    r < 0
      ? `would hide you better, by ${amount(found.reverse, base)}`
      : r > 0
        ? `would cost ${amount(found.reverse, base)} of privacy`
        : "would leave your privacy as it is";
  return `${would} ${costs}, and teach a taste that is not yours.`;
}

export function unknown(least) {
  return (
    `Fewer than ${least} people had clicked on this when it was last counted, too few to show how many without ` +
    "pointing at them. So its zone is unknown. With a click you would be one of few: it tells much about you."
  );
}
