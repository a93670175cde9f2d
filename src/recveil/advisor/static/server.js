/** The app's own requests. Only a confirmed click, an undo, a strategy and an erasure say anything of a person. */

import { has, say } from "./words.js";

const API = "/api/v1";
const ACCOUNT = "recveil-account"; // in this browser's storage: whether it has made an account

/** What went wrong, in a sentence for her; status 0 is no answer, and what is passing may be tried again. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
    this.passing = status === 0 || status === 429 || status >= 500;
  }
}

async function request(method, path, { body, headers } = {}) {
  const asked = { method, headers: { "X-Recveil-Request": "1", ...headers }, credentials: "same-origin" };
  if (body !== undefined) {
    asked.headers["Content-Type"] = "application/json";
    asked.body = JSON.stringify(body);
  }
  const answer = await fetch(API + path, asked).catch(() => {
    throw new Problem(0, say("problem.away"));
  });
  if (answer.status === 401) localStorage.removeItem(ACCOUNT);
  if (!answer.ok) {
    const [name, wait] = [`problem.${answer.status}`, answer.headers.get("Retry-After") ?? "60"];
    throw new Problem(answer.status, has(name) ? say(name, { wait }) : say("problem.other", { status: String(answer.status) }));
  }
  return answer.status === 204 ? null : answer.json();
}

export const hasAccount = () => localStorage.getItem(ACCOUNT) !== null;

/**
 * An account is made at her first confirmed click or choice: who only looks around leaves no trace. Two quick clicks
 * wait for the same answer, and pages of one browser for each other, so that there is one account.
 */
let joining = null;
function account() {
  joining ??= alone(join).finally(() => {
    joining = null;
  });
  return joining;
}

async function join() {
  if (hasAccount()) return;
  await request("POST", "/people");
  localStorage.setItem(ACCOUNT, "yes");
}

/** Locks are for secure contexts: https, and this machine. */
const alone = (act) => (navigator.locks ? navigator.locks.request(ACCOUNT, act) : act());

/** The whole catalogue at once: she searches it on her device. Returns a Map of ids to titles, in order of titles. */
export const catalogue = async () => new Map((await request("GET", "/catalogue")).items);

const clickPath = (item) => `/people/me/clicks/${encodeURIComponent(item)}`;

/** A name for a click, so that sending it twice makes one. */
export const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

export async function click(item, sign, key) {
  await account();
  return request("PUT", clickPath(item), { body: { sign }, headers: { "Idempotency-Key": key } });
}

export const undo = (item) => request("DELETE", clickPath(item));
export const me = () => request("GET", "/people/me");
export const clicks = async () => (await request("GET", "/people/me/clicks")).clicks;
export const recommendations = async (n) => (await request("GET", `/people/me/recommendations?limit=${n}`)).items;

export async function setStrategy(strategy) {
  await account();
  return request("PUT", "/people/me/strategy", { body: { strategy } });
}

export async function erase() {
  await request("DELETE", "/people/me");
  localStorage.removeItem(ACCOUNT);
}
