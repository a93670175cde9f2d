/** Requests to the desk on this machine; what goes wrong is a Problem with a sentence and the field it concerns. */

import { say } from "./words.js";

export class Problem extends Error {
  constructor(status, document = {}) {
    super(document.detail ?? document.title ?? say("problem.answered", { status: String(status) }));
    this.status = status;
    this.field = document.field ?? null;
    this.state = document.state ?? null;
    this.own = document.detail != null; // the desk's own words, which are English
  }
}

/** Which project this page shows: what it asks for is done to that one or to none. */
const shown = {};
export const showing = (mark) => {
  shown["Recveil-Project"] = mark ?? "";
};

export async function ask(method, path, body) {
  const asked = { method, credentials: "same-origin", headers: { ...shown } };
  if (body !== undefined) {
    asked.headers["Content-Type"] = "application/json";
    asked.body = JSON.stringify(body);
  }
  const answer = await fetch(path, asked).catch(() => {
    throw new Problem(0, { title: say("problem.away") });
  });
  if (answer.ok) return answer.json();
  throw new Problem(
    answer.status,
    answer.status === 401 ? { title: say("problem.locked") } : await answer.json().catch(() => ({})),
  );
}

/** Send a file as it is; told(share) is called on the way. */
export function upload(file, as, told) {
  return new Promise((done, fail) => {
    const sent = new XMLHttpRequest();
    sent.open("POST", `/api/upload?name=${encodeURIComponent(file.name)}&as=${as}`);
    for (const [name, value] of Object.entries(shown)) sent.setRequestHeader(name, value);
    sent.upload.addEventListener("progress", (event) => event.lengthComputable && told(event.loaded / event.total));
    sent.addEventListener("error", () => fail(new Problem(0, { title: say("problem.away") })));
    sent.addEventListener("load", () => {
      let document = {};
      try {
        document = JSON.parse(sent.responseText);
      } catch {
        // no document: the status says it
      }
      if (sent.status < 300) done(document);
      else fail(new Problem(sent.status, document));
    });
    sent.send(file);
  });
}
