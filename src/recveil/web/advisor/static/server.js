/** The app's own requests. Only a confirmed click, an undo, a strategy and an erasure say anything of a person. */

const API = "/api/v1";
const ACCOUNT = "recveil-account"; // in this browser's storage: whether it has made an account
const PAGE = 1000;

/** What went wrong, in a sentence for her; status 0 is no answer, and what is passing may be tried again. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
    this.passing = status === 0 || status === 429 || status >= 500;
  }
}

const AWAY = "The server cannot be reached. Nothing was changed.";

async function request(method, path, { body, headers } = {}) {
  const asked = { method, headers: { "X-Recveil-Request": "1", ...headers }, credentials: "same-origin" };
  if (body !== undefined) {
    asked.headers["Content-Type"] = "application/json";
    asked.body = JSON.stringify(body);
  }
  const answer = await fetch(API + path, asked).catch(() => {
    throw new Problem(0, AWAY);
  });
  if (answer.status === 401) localStorage.removeItem(ACCOUNT);
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Problem(answer.status, problem.detail ?? problem.title ?? `The server answered ${answer.status}.`);
  }
  return answer.status === 204 ? null : answer.json();
}

export const hasAccount = () => localStorage.getItem(ACCOUNT) !== null;

/** An account is made at her first confirmed click or choice: who only looks around leaves no trace. */
async function account() {
  if (hasAccount()) return;
  await request("POST", "/people");
  localStorage.setItem(ACCOUNT, "yes");
}

/** The whole catalogue, in pages: she searches it on her device. Returns a Map of ids to titles. */
export async function catalogue() {
  const titles = new Map();
  for (let [offset, total] = [0, 1]; offset < total; offset += PAGE) {
    const page = await request("GET", `/items?offset=${offset}&limit=${PAGE}`);
    for (const { id, title } of page.items) titles.set(id, title);
    total = page.total;
  }
  return titles;
}

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
