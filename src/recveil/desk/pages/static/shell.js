/** What surrounds every screen: the steps, the line of choices so far, the command, the tour, the way on. */

import { make } from "/shared/dom.js";
import { says } from "./notices.js";
import { ask } from "./server.js";
import { shortSpec } from "./specs.js";
import { act, now, onResult, watch, work } from "./state.js";
import { known, percent, say } from "./words.js";

const page = document.body.dataset.page;
const pages = document.body.dataset.pages.split(" ");
const here = pages.indexOf(page);
let headline = null; // of the exposure, for the line of choices

export function surround() {
  watch(steps);
  watch(line);
  watch(commands);
  watch(onward);
  watch(follow);
  watch(changed);
  tour();
  onResult("exposure", (found) => {
    headline = found?.headline ?? null;
    line(now());
  });
}

function steps({ steps: all }) {
  const entries = pages.map((slug, k) => {
    const { state, why } = all[slug];
    const open = state !== "closed";
    const sign = { done: "✓", working: "…", failed: "!" }[state] ?? String(k + 1);
    const inside = [
      make("span", { class: "number", "aria-hidden": "true" }, k === here ? String(k + 1) : sign),
      make(
        "span",
        { class: "name" },
        say(`step.${slug}`),
        make("span", { class: "unseen" }, ` (${say(`state.${state}`)})`),
      ),
    ];
    const entry = open
      ? make("a", { href: `/${slug}`, "aria-current": k === here ? "step" : null }, ...inside)
      : make("span", { class: "closed", title: why || null }, ...inside);
    return make("li", { class: state }, entry);
  });
  const list = document.getElementById("steps");
  keepFocus(list, entries);
  const at = list.querySelector("[aria-current]"); // on a phone the names of the steps stand in one line
  const [box, inner] = [list, at].map((one) => one?.getBoundingClientRect());
  if (at) list.scrollLeft += inner.left + inner.width / 2 - (box.left + box.width / 2);
}

/** Put new entries in a list whose focused link may be among the old ones. */
function keepFocus(list, entries) {
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  list.replaceChildren(...entries);
  if (focused) list.querySelector(`[href="${focused}"]`)?.focus();
}

/** Every choice made so far, each a way back to where it was made. */
function line({ choices: chosen, steps: all }) {
  const past = (slug) => all[slug].state !== "closed";
  const { data, protect, recipient, use, candidates } = chosen;
  const said = [
    ["start", data.source && data.source.split("/").at(-1)],
    ["people", past("people") && all.people.state === "done" && say(`unit.${protect.unit}.short`)],
    ["exposure", headline && say("line.exposed", { known: headline.known, share: percent(headline.value) })],
    [
      "recipient",
      all.recipient.state === "done" &&
        say("line.to", { who: known(`recipient.${recipient.name}.title`, recipient.name.split("/").at(-1)).text }),
    ],
    [
      "use",
      all.use.state === "done" && say("line.keep", { share: percent(use.keep), use: say(`use.${use.what}.short`) }),
    ],
    ["candidates", candidates.chosen && shortSpec(candidates.chosen)],
    [
      "decide",
      all.decide.state === "done" && known(`line.${all.decide.kind}`, all.decide.kind).text,
    ],
    ["publish", all.publish.state === "done" && say("line.published")],
  ].filter(([, text]) => text);
  const entries = said.map(([slug, text]) =>
    make(
      "li",
      {},
      make("a", { href: `/${slug}` }, make("span", { class: "unseen" }, `${say(`step.${slug}`)}: `), text),
    ),
  );
  keepFocus(
    document.getElementById("choices"),
    entries.length ? entries : [make("li", { class: "none" }, say("line.nothing"))],
  );
}

let copied = "";
function commands({ commands: all }) {
  const lines = all[page] ?? [];
  const text = lines.join("\n");
  const place = document.getElementById("command");
  place.hidden = !lines.length;
  if (text === copied) return;
  copied = text;
  place.querySelector("code").textContent = text;
  place.querySelector("button").onclick = async () => {
    await navigator.clipboard.writeText(text).then(
      () => says(say("command.copied")),
      () => getSelection().selectAllChildren(place.querySelector("code")),
    );
  };
}

/** Cards show what is chosen, also where another tab chose it. */
const followed = new Map();
function follow({ choices: chosen }) {
  for (const place of document.querySelectorAll("fieldset.choices[data-field]")) {
    const name = place.dataset.field;
    const value = name.split(".").reduce((at, key) => at?.[key], chosen);
    if (followed.get(name) === value) continue;
    followed.set(name, value);
    for (const radio of place.querySelectorAll("input")) radio.checked = radio.value === String(value);
  }
}

/** Back and on; where the way on is closed, why. */
function onward({ steps: all, choices: chosen }) {
  const place = document.getElementById("onward");
  const way = pages.filter((slug) => slug !== "judge" || slug === page || chosen.judge.people); // else nobody judges
  const at = way.indexOf(page);
  const [before, next] = [way[at - 1], way[at + 1]];
  const open = next && all[next].state !== "closed";
  const key = `${open} ${next} ${next && all[next].why} ${chosen.recipient.name}`;
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  place.replaceChildren(
    ...[
      before &&
        make(
          "a",
          { class: "button", href: `/${before}`, rel: "prev" },
          say("onward.back", { step: say(`step.${before}`) }),
        ),
      next &&
        open &&
        make(
          "a",
          { class: "button main", href: `/${next}`, rel: "next", id: "next" },
          say("onward.next", { step: say(`step.${next}`) }),
        ),
      next &&
        !open &&
        make("p", { class: "small" }, say(`closed.${next === "decide" && !chosen.recipient.name ? "use" : next}`)),
    ].filter(Boolean),
  );
}

/** The file is not the one that was looked at: nothing that was found is about it. */
function changed({ changed: yes }) {
  const place = document.getElementById("changed");
  if (place.hidden === !yes) return;
  place.hidden = !yes;
  place.replaceChildren(
    say("changed"),
    " ",
    make("button", { type: "button", class: "small-button", id: "look-again", onclick: () => work("overview") }, say("changed.do")),
  );
}

/** A note on every screen of the tour's own project, what to look at and what to press. */
function tour() {
  const place = document.getElementById("tour");
  place.hidden = !now().project.tour;
  if (place.hidden) return;
  place.replaceChildren(
    make("p", { class: "named" }, say("tour.title", { step: here + 1, of: pages.length })),
    make("p", {}, say(page === "start" ? "tour.start_page" : `tour.${page}`)),
    make(
      "p",
      { class: "row" },
      make(
        "button",
        { type: "button", class: "quiet", id: "end-tour", onclick: () => act(() => ask("POST", "/api/tour/end")) },
        say("tour.end"),
      ),
      make("span", { class: "small" }, say("tour.own")),
    ),
  );
}
