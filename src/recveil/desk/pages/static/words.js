/** The words of the page in its language, and numbers as people say them. */

import { messages } from "/static/messages/messages.js";

const spoken = await messages("desk");
export const { has, language, say } = spoken;

export const count = (n) => spoken.number(n);

/** A number as it is, in a few digits. */
export const plain = (value) => new Intl.NumberFormat(language, { maximumSignificantDigits: 3 }).format(value);

/** 93%, 3.2%, 0.1%: as many digits as the size deserves, written as is usual in the language. */
export function percent(value) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.0005) return `<${percent(0.001)}`;
  const digits = size >= 0.0995 || size === 0 ? 0 : 1;
  const form = { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(language, form).format(value).replace("-", "−");
}

/** "3 of 100", or "2 of 1,000" where it is rarer: how often something happens, as people count. */
export function often(value) {
  if (value > 0 && value < 0.0005) return say("often.rarely");
  if (value > 0 && value < 0.005) return say("often", { times: count(Math.round(1000 * value)), of: count(1000) });
  return say("often", { times: count(Math.round(100 * value)), of: "100" });
}

/** 70% [64, 75]. */
export const interval = (m) => `[${percent(m.low)}, ${percent(m.high)}]`;

export function duration(seconds) {
  if (seconds < 60) return say("seconds", { n: Math.max(1, Math.round(seconds)) });
  return say("minutes", { n: Math.max(1, Math.round(seconds / 60)) });
}

export function size(bytes) {
  if (bytes < 1e3) return say("bytes", { n: bytes });
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, "kB"] : bytes < 1e9 ? [bytes / 1e6, "MB"] : [bytes / 1e9, "GB"];
  return `${spoken.number(value, value < 10 ? 1 : 0)} ${unit}`;
}

export const date = (text) =>
  new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: "UTC" }).format(new Date(text));

/** A text of ours by its name, or what the desk said in English where we have none: {text, lang}. */
export function known(name, otherwise) {
  return has(name) ? { text: say(name), lang: null } : { text: otherwise ?? "", lang: language === "en" ? null : "en" };
}

/** The name of a message for one of the desk's own phrases: "there are no tags" is there_are_no_tags. */
export const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z]+/g, "_")
    .replace(/^_|_$/g, "");

/** The language of lines that come from the desk itself. */
export const engine = language === "en" ? {} : { lang: "en" };
