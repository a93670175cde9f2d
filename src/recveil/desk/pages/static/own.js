/** What was written once, in English, for all who read a release: in the page's language where it is known there. */

import { make } from "/shared/dom.js";
import { engine, language } from "./words.js";

const NUMBER = String.raw`[<-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?%?`;
const FIGURE = new RegExp(String.raw`^${NUMBER}(?: \[${NUMBER}, ${NUMBER}\])?$`);
const texts = language === "en" ? {} : await fetch(`/static/said.${language}.json`).then((answer) => (answer.ok ? answer.json() : {}));
const places = (text) => text.split("{").length;
const forms = Object.entries(texts)
  .sort(([a], [b]) => places(a) - places(b))
  .map(([english, own]) => {
    const plain = english.replace(/[.*+?^$()|[\]\\]/g, String.raw`\$&`);
    return [new RegExp(`^${plain.replace(/\{(\w+)\}/g, String.raw`(?<$1>\S+?)`)}$`), own];
  });

const figure = (text) => (FIGURE.test(text) ? text.replaceAll(", ", "; ").replace(/[.,]/g, (sign) => (sign === "." ? "," : ".")) : text);

function sentence(english) {
  for (const [form, own] of forms) {
    const found = form.exec(english);
    if (found) return own.replace(/\{(\w+)\}/g, (_, name) => figure(found.groups[name]));
  }
  return null;
}

/** Lines of the desk's own as elements; those that are not known in the page's language say that they are English. */
export function own(tag, text, options = {}) {
  const parts = language === "en" ? [text] : text.trim().split(/(?<=\.)\s+/).map((part) => sentence(part.replace(/\s+/g, " ")));
  const known = !parts.includes(null);
  return make(tag, known ? options : { ...options, ...engine }, known ? parts.join(" ") : text);
}

/** Sentences that the desk itself made. */
export const told = (lines, kind = "p") => lines.map((line) => own(kind, line));
