/**
 * A platform's way to a click advisor from JavaScript, on the platform's server: its key must never reach a browser.
 *
 * const advisor = new AdvisorClient("https://recveil.example", process.env.RECVEIL_KEY);
 * Types are in client.d.ts. What is sent again after a lost answer has the same key, so nothing counts twice.
 */

const PASSING = [429, 502, 503, 504];
const [LINES, BYTES, PEOPLE, ATTEMPTS] = [10_000, 7 << 20, 1000, 8]; // a server takes 8 MiB
const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** The server said no, and why. */
export class AdvisorRefusal extends Error {
  constructor(status, detail) {
    super(`${status}: ${detail}`);
    Object.assign(this, { status, detail });
  }
}

export class AdvisorClient {
  #url;
  #key;

  constructor(url, key) {
    this.#url = `${url.replace(/\/$/, "")}/api/v1`;
    this.#key = key;
  }

  // --- one person -------------------------------------------------------------------------------------------------

  async visit(person) {
    await this.#ask("POST", "/people", { person });
  }

  click(person, item, sign, key = crypto.randomUUID()) {
    return this.#ask("PUT", path(item), { person, body: { sign }, key });
  }

  async undo(person, item) {
    await this.#ask("DELETE", path(item), { person });
  }

  async clicks(person) {
    return (await this.#ask("GET", "/people/me/clicks", { person })).clicks;
  }

  async recommendations(person, limit = 20) {
    return (await this.#ask("GET", `/people/me/recommendations?limit=${limit}`, { person })).items;
  }

  export(person) {
    return this.#ask("GET", "/people/me/export", { person });
  }

  async erase(person) {
    await this.#ask("DELETE", "/people/me", { person });
  }

  // --- many -------------------------------------------------------------------------------------------------------

  visits(people) {
    return this.send(people.map((person) => ({ person })));
  }

  opinions(rows) {
    return this.send(rows.map(([person, item, sign]) => ({ person, item, sign })));
  }

  eraseAll(people) {
    return this.send(people.map((person) => ({ person, erase: true })));
  }

  async send(lines, name = crypto.randomUUID()) {
    const result = { changed: 0, same: 0, refused: 0, problems: [] };
    let first = 0;
    for (const part of bodies(lines)) {
      const told = await this.#ask("POST", "/platform/batches", { body: part.join(""), key: await digest(`${name}/${first}`) });
      for (const part of ["changed", "same", "refused"]) result[part] += told[part];
      result.problems.push(...told.problems.map(({ line, detail }) => ({ line: first + line, detail })));
      first += part.length;
    }
    return result;
  }

  async clicksOf(people) {
    const found = {};
    for (let first = 0; first < people.length; first += PEOPLE) {
      const body = { people: people.slice(first, first + PEOPLE) };
      Object.assign(found, (await this.#ask("POST", "/platform/clicks", { body })).people);
    }
    return found;
  }

  // --- the way there ----------------------------------------------------------------------------------------------

  async #ask(method, where, { person, body, key } = {}) {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const headers = {
      Authorization: `Bearer ${this.#key}`,
      ...(person !== undefined && { "X-Recveil-Person": person }),
      ...(key !== undefined && { "Idempotency-Key": key }),
      ...(text !== undefined && { "Content-Type": typeof body === "string" ? "application/x-ndjson" : "application/json" }),
    };
    for (let attempt = 0; ; attempt++) {
      const answer = await fetch(this.#url + where, { method, headers, body: text }).catch((error) => error);
      const last = attempt === ATTEMPTS - 1;
      if (answer instanceof Error && last) throw answer;
      if (!(answer instanceof Error)) {
        if (answer.ok) return answer.status === 204 ? null : answer.json();
        if (last || !PASSING.includes(answer.status)) {
          const told = await answer.json().catch(() => ({ detail: answer.statusText }));
          throw new AdvisorRefusal(answer.status, told.detail);
        }
      }
      await pause(Number(answer.headers?.get("Retry-After")) || 2 ** attempt / 10);
    }
  }
}

/** Lines as they are sent, in parts that a batch can hold. */
function* bodies(lines) {
  let [part, size] = [[], 0];
  for (const line of lines) {
    const text = `${JSON.stringify(line)}\n`;
    const bytes = new TextEncoder().encode(text).length;
    if (part.length && (part.length === LINES || size + bytes > BYTES)) {
      yield part;
      [part, size] = [[], 0];
    }
    part.push(text);
    size += bytes;
  }
  if (part.length) yield part;
}

const path = (item) => `/people/me/clicks/${encodeURIComponent(item)}`;

async function digest(text) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
