/** What the desk knows, kept current by events; choices are changed here and nowhere else. */

import { problem, sayAfterReload, says } from "./notices.js";
import { ask, Problem, showing } from "./server.js";
import { say } from "./words.js";

let state = JSON.parse(document.getElementById("state").textContent);
const watchers = [];
showing(state.project.mark);

export const now = () => state;
export const choices = () => state.choices;

/** Call f with the state now and whenever it changes. */
export function watch(f) {
  watchers.push(f);
  f(state);
}

function take(next) {
  if (next.project.mark !== state.project.mark) {
    sayAfterReload(say("problem.other_project", { name: next.project.name }), "/");
    return;
  }
  const mended = state.problem && !next.problem;
  state = next;
  trouble();
  if (mended) location.reload();
  else if (!next.problem) for (const f of watchers) f(state);
}

/** What stands in the way of everything: a full disk, or choices that were edited by hand and cannot be read. */
export function trouble() {
  const line = state.problem?.detail ?? state.trouble ?? "";
  const place = document.getElementById("trouble");
  if (place.textContent !== line) place.textContent = line;
  place.hidden = !line;
  return Boolean(state.problem);
}

/** Call show with a result when there is one, and again when it becomes another; with null while there is none. */
export function onResult(name, show, path = `/api/${name}`) {
  let shown;
  watch(async ({ results }) => {
    const tag = results[name] ?? null;
    if (tag === shown) return;
    shown = tag;
    try {
      const found = tag === null ? null : await ask("GET", path);
      if (tag === shown) show(found);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (tag === shown) shown = undefined; // it changed on the way: the next state asks again
    }
  });
}

/** Do something that answers with the state; what goes wrong is told at its field. True if it went well. */
export async function act(doing) {
  try {
    const next = await doing();
    if (next?.choices) take(next);
    problem(null);
    return true;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status === 409 && error.state) {
      sayAfterReload(say("problem.elsewhere"));
    } else problem(error);
    return false;
  }
}

/** change({recipient: {name: "team"}}) */
export const change = (wanted) =>
  act(() => ask("PATCH", "/api/project", { version: state.project.version, choices: wanted }));

export const work = (kind, more = {}) => act(() => ask("POST", "/api/work", { kind, ...more }));
export const cancel = (id) => act(() => ask("POST", "/api/cancel", { id }));

/** The jobs of some kinds; busy: those that wait or run. */
export const jobs = (...kinds) => state.work.filter((job) => kinds.includes(job.kind));
export const busy = (...kinds) => jobs(...kinds).filter((job) => job.state === "queued" || job.state === "running");

/** Be told by the desk; a connection that breaks is made again by the browser. */
export function listen() {
  const events = new EventSource("/api/events");
  let away = false;
  events.addEventListener("state", (event) => {
    if (away) says(say("problem.back"));
    away = false;
    take(JSON.parse(event.data));
  });
  events.addEventListener("error", () => {
    if (!away) says(say(events.readyState === EventSource.CLOSED ? "problem.locked" : "problem.away"), true);
    away = true;
  });
  addEventListener("pagehide", () => events.close());
}
