/** The app: a catalogue, recommendations, her clicks. It knows what she confirmed; pre-clicks stay with the advisor. */

import { showAll } from "./all.js";
import "./click-advisor.js";
import { make } from "./dom.js";
import { list } from "./list.js";
import { showPerson } from "./person.js";
import { publicTable } from "./profiles.js";
import { showPromise } from "./promise.js";
import { mostLiked, publicModel, similar } from "./recommend.js";
import * as server from "./server.js";
import { say } from "./words.js";

const AUTO = "recveil-auto"; // in this browser's storage: follow the strategy without asking
const CHOICES = "recveil-choices"; // there too: what to do in some zones
const [FEW, PAGE, PAUSE, STAY] = [6, 12, 120, 10_000];
const NO_MODEL = { recommend: "model", items: [], place: new Map(), starts: [0], alike: [], weight: [] };
const find = (id) => document.getElementById(id);

const table = publicTable(new URL("/api/v1", location.href).href);
const state = { titles: new Map(), clicks: [], strategy: "", choices: "", auto: false, shown: PAGE, recommended: [], table, model: NO_MODEL };

// --- what is seen -----------------------------------------------------------------------------------------------

const recommended = list(find("recommended"), state);
const results = list(find("results"), state);

function show() {
  const { profiles } = table.including(state.clicks);
  recommended(state.recommended, profiles);
  const words = find("query").value.trim().toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const matches = [...state.titles.keys()].filter((item) => {
    const title = state.titles.get(item).toLocaleLowerCase();
    return words.every((word) => title.includes(word));
  });
  results(matches.slice(0, state.shown), profiles);
  void table.want(state.clicks.map(({ item }) => item)); // each row's element wants its own
  find("more").hidden = matches.length <= state.shown;
  find("found").textContent = !state.titles.size
    ? ""
    : words.length
      ? say("found.some", { some: matches.length, all: state.titles.size })
      : say("found.all", { titles: state.titles.size, people: table.people });
  showPromise(find("promise"), table, state.model);
  for (const choice of find("strategy").querySelectorAll("input")) choice.checked = choice.value === state.strategy;
  find("auto").checked = state.auto;
  find("auto").disabled = !state.strategy && !state.choices;
  for (const choice of find("choices").querySelectorAll("select")) {
    choice.value = state.choices.match(new RegExp(`\\b${choice.name}:(\\w+)`))?.[1] ?? "";
  }
  if (find("all").open) showAll(find("all-shown"), table);
  showPerson(state);
}

/** Words in the corner, read out too, with something to do about it if there is. They go away unless a fault. */
let leaving = 0;
function tell(text, name, act, fault = false) {
  if (find("status").contains(document.activeElement)) find("for-you").focus(); // what had the focus goes
  const button = name && make("button", { type: "button", onclick: act }, name);
  find("status").replaceChildren(...[text, button].filter(Boolean));
  clearTimeout(leaving);
  if (!fault && text) leaving = setTimeout(leave, STAY);
}

/** It stays while it is pointed at or has the focus, and a little longer. */
function leave() {
  if (find("status").matches(":hover, :focus-within")) leaving = setTimeout(leave, STAY / 5);
  else tell("");
}

// --- what is done -----------------------------------------------------------------------------------------------

/** Do something with the server; say what went wrong, and offer to try again. */
async function attempt(act) {
  try {
    await act();
  } catch (problem) {
    if (!(problem instanceof server.Problem)) throw problem;
    tell(problem.message, problem.passing ? say("again") : null, () => attempt(act), true);
    if (problem.status === 401) await refresh();
    else show();
  }
}

async function refresh() {
  if (server.hasAccount()) {
    const [mine, about] = await Promise.all([server.clicks(), server.me()]);
    [state.clicks, state.strategy] = [mine, about.strategy ?? ""];
  } else {
    [state.clicks, state.strategy] = [[], ""];
  }
  await recommend();
}

/** Public counts have moved: some of her clicks may be among them now. */
async function recount() {
  if (server.hasAccount()) state.clicks = await server.clicks().catch(() => state.clicks);
  show();
}

/** New recommendations around those that she has just clicked, which stay where they are. */
async function recommend() {
  const clicked = new Set(state.clicks.map(({ item }) => item));
  let fresh;
  if (state.model.recommend === "neighbours" && server.hasAccount() && clicked.size) {
    fresh = await server.recommendations(FEW);
    find("basis").textContent = say("basis.neighbours");
  } else {
    const near = similar(state.model, state.clicks, FEW).filter((item) => state.titles.has(item)); // some were withdrawn
    fresh = [...near, ...mostLiked(table.profiles, new Set([...near, ...clicked]), FEW - near.length)];
    find("basis").textContent = say(near.length ? "basis.model" : "basis.popular");
  }
  const next = fresh.filter((item) => !clicked.has(item));
  state.recommended = state.recommended.map((item) => (clicked.has(item) ? item : next.shift())).filter(Boolean);
  state.recommended.push(...next);
  const none = state.recommended.every((item) => clicked.has(item));
  if (none) find("basis").textContent = say("basis.none");
  show();
}

const titleOf = (item) => state.titles.get(item) ?? item;

addEventListener("advised-click", ({ detail: { item, sign } }) => {
  const key = server.newKey();
  attempt(async () => {
    const done = await server.click(item, sign, key);
    state.clicks = [...state.clicks.filter((click) => click.item !== item), done];
    show();
    tell(say(`${sign}.saved`, { title: titleOf(item) }), say("undo"), () => undo(item));
    await recommend();
  });
});
addEventListener("advised-cancel", () => tell(say("cancelled")));
addEventListener("advised-undo", ({ detail: { item } }) => undo(item));

const undo = (item) =>
  attempt(async () => {
    await server.undo(item);
    state.clicks = state.clicks.filter((click) => click.item !== item);
    show();
    tell(say("undone", { title: titleOf(item) }));
    await recommend();
  });

find("search").addEventListener("submit", (event) => event.preventDefault());
let typing = 0;
find("query").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    state.shown = PAGE;
    show();
  }, PAUSE);
});
find("more").addEventListener("click", () => {
  const first = state.shown;
  state.shown += PAGE;
  show();
  find("results").children[first]?.focus();
});
find("strategy").addEventListener("change", ({ target }) =>
  attempt(async () => {
    await server.setStrategy(target.value || null);
    state.strategy = target.value;
    show();
    tell(say(`strategy.now.${state.strategy || "none"}`));
  }),
);
find("choices").addEventListener("change", () => {
  const chosen = [...find("choices").querySelectorAll("select")].filter(({ value }) => value);
  state.choices = chosen.map(({ name, value }) => `${name}:${value}`).join(" ");
  if (state.choices) localStorage.setItem(CHOICES, state.choices);
  else localStorage.removeItem(CHOICES);
  show();
});
find("all").addEventListener("toggle", () => find("all").open && showAll(find("all-shown"), table));
find("auto").addEventListener("change", ({ target }) => {
  state.auto = target.checked;
  if (state.auto) localStorage.setItem(AUTO, "yes");
  else localStorage.removeItem(AUTO);
  show();
});
find("clicks").addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-undo]");
  if (!button) return;
  await undo(button.dataset.undo);
  (find("clicks").querySelector("button") ?? find("you")).focus();
});
find("erase").addEventListener("click", () => find("erasing").showModal());
find("erasing").addEventListener("close", ({ target }) => {
  if (target.returnValue !== "erase") return;
  target.returnValue = "";
  attempt(async () => {
    await server.erase();
    for (const name of [AUTO, CHOICES]) localStorage.removeItem(name);
    Object.assign(state, { auto: false, choices: "", recommended: [] });
    await refresh();
    tell(say("erased"));
    find("you").focus();
  });
});

// --- the start --------------------------------------------------------------------------------------------------

state.auto = localStorage.getItem(AUTO) !== null;
state.choices = localStorage.getItem(CHOICES) ?? "";
attempt(async () => {
  const models = publicModel(table.api).catch(() => NO_MODEL);
  const [titles, model] = await Promise.all([server.catalogue(), models, table.ready]);
  Object.assign(state, { titles, model });
  await refresh();
  tell("");
  table.addEventListener("change", recount);
  table.addEventListener("more", show);
});
