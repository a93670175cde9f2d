/**
 * The words of a page in the browser: `const { say, number } = await messages("advisor")`.
 *
 * They come from `APP.LANGUAGE.json` beside this file, from an element `messages-APP` of a page that was saved as one
 * file, or with the program (`give`), where that is one file. The language is the page's own (<html lang>), else the browser's, else English.
 */

const LANGUAGES = ["en", "de"];
const [asked, given] = [new Map(), new Map()];

function chosen() {
  const wished = [document.documentElement.lang, ...navigator.languages].map((tag) => tag.toLowerCase().split("-")[0]);
  return wished.find((tag) => LANGUAGES.includes(tag)) ?? LANGUAGES[0];
}

/** The texts of an app in all languages, {en: {...}, de: {...}}: nothing is asked for then. */
export const give = (app, texts) => given.set(app, texts);

/** The messages of an app, fetched once: {language, say(name, values), number(value, digits)}. */
export function messages(app) {
  if (!asked.has(app)) asked.set(app, load(app));
  return asked.get(app);
}

async function load(app) {
  const language = chosen();
  if (given.has(app)) return speaker(given.get(app)[language], language);
  const embedded = document.getElementById(`messages-${app}`);
  if (embedded) return speaker(JSON.parse(embedded.textContent), language);
  const answer = await fetch(new URL(`${app}.${language}.json`, import.meta.url), { credentials: "omit" });
  if (!answer.ok) throw new Error(`no messages: the server answered ${answer.status}`);
  return speaker(await answer.json(), language);
}

/** `say("people", {n: 3})` takes people.one or people.other where there is no people; numbers are written as is usual there. */
function speaker(texts, language) {
  const plural = new Intl.PluralRules(language);
  const number = (value, digits = 0) =>
    new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
  const has = (name) => Object.hasOwn(texts, name);
  function say(name, values = {}) {
    const found = has(name) ? name : `${name}.${plural.select(values.n)}`;
    if (!has(found)) throw new Error(`no message ${name}`);
    return texts[found].replace(/\{(\w+)\}/g, (_, place) => {
      if (!Object.hasOwn(values, place)) throw new Error(`${name} wants ${place}`);
      return typeof values[place] === "number" ? number(values[place]) : values[place];
    });
  }
  return { language, has, say, number };
}
