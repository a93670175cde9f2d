/**
 * <click-advisor item="50" item-title="Star Wars" strategy="smart">: like and dislike, with advice before the click.
 *
 * A pre-click opens the advice; she confirms, changes or cancels. Attributes: `api` (where the public profiles are;
 * this file's own server by default), `item`, `item-title`, `strategy` (basic, careful, smart), `auto` (follow it
 * without asking, except to change a click), `base` of disclosure (2, e, 10), `value` (like, dislike: what she clicked
 * already), `choices` (an action for some zones before the strategy's, "deleterious:ask safe:confirm"), and `confirm`: an address of the page's own server, where she is logged in. What she confirms is sent there
 * (PUT CONFIRM/ITEM {"sign"}; DELETE takes it back) and `value` follows; without it the page saves and sets `value`.
 *
 * Events, which bubble: `advised-click` {item, sign} once confirmed (and, with `confirm`, saved); `advised-cancel`
 * {item}; `advised-undo` {item}. They never tell what the pre-click was: a page that hears of a changed click could undo
 * the change. A script cannot press Confirm: only what a person does counts.
 */

import { STRATEGIES, effect, errs, inDoubt } from "./advice.js";
import { style } from "./click-advisor-style.js";
import { face, make } from "./dom.js";
import { zonePicture } from "./picture.js";
import { publicTable } from "./profiles.js";
import { VERBS, ZONE_NAMES, company, errorsOf, lines, opposite, say, unknown, verdict } from "./words.js";

const HOME = new URL("../api/v1", import.meta.url).href;

export class ClickAdvisor extends HTMLElement {
  static observedAttributes = ["item-title", "value"];
  #dialog = null;
  #parts = []; // the two buttons or what she said, and the note
  #sign = 0; // of the pre-click while she is asked
  #meant = 0; // of the pre-click before any change

  connectedCallback() {
    if (!this.shadowRoot) {
      this.attachShadow({ mode: "open" }).adoptedStyleSheets = [style];
      this.#choice();
    }
    void this.table.want([this.getAttribute("item")]); // fetched now, not at a pre-click, which no request may follow
  }

  attributeChangedCallback() {
    if (this.shadowRoot) this.#choice();
  }

  get table() {
    return publicTable(this.getAttribute("api")?.replace(/\/$/, "") ?? HOME);
  }

  /** Whether her answer is awaited: whoever takes the element away now takes the question with it. */
  get asks() {
    return this.#dialog?.element.open ?? false;
  }

  get base() {
    return this.getAttribute("base") ?? "2";
  }

  get #title() {
    return this.getAttribute("item-title") ?? say("this_item");
  }

  /** What is known about a click with this sign: counts, effect and zone; null where too few people clicked. */
  advice(sign) {
    const profile = this.table.profiles.get(this.getAttribute("item"));
    if (!profile) return null;
    const [a, b] = sign > 0 ? profile : [...profile].reverse();
    const n = Math.max(this.table.people, a + b + 1);
    const doubt = inDoubt(a, b, this.table.people, this.table.blur);
    const wrong = errs(a, b, this.table.people, this.table.blur);
    return { a, b, n, sign, doubt, wrong, about: this.table.blur.deviation > 0, ...effect(...profile, n, sign, this.base) };
  }

  /** What is to be done in a zone: as she chose for it, else as her strategy has it; null where she is to be asked. */
  action(zone) {
    const own = new Map((this.getAttribute("choices") ?? "").split(/\s+/).map((choice) => choice.split(":")));
    const action = own.get(zone) ?? STRATEGIES[this.getAttribute("strategy")]?.[zone];
    return ["confirm", "change", "cancel"].includes(action) ? action : null;
  }

  /** A pre-click: nothing leaves the device. */
  preclick(sign) {
    const advice = this.advice(sign);
    const action = advice && !advice.doubt && this.action(advice.zone);
    if (this.hasAttribute("auto") && action === "confirm") return this.#confirmed("advised-click", sign);
    if (this.hasAttribute("auto") && action === "cancel") {
      this.#choice(
        say(`${VERBS[sign]}.not_clicked`, { zone: say(`zone.${advice.zone}.word`) }),
        make("button", { class: "quiet", type: "button", onclick: () => this.#ask(sign) }, say("show_me")),
      );
      return this.#tell("advised-cancel");
    }
    return this.#ask(sign);
  }

  // --- the two buttons, or what she said ------------------------------------------------------------------------

  #choice(...note) {
    const value = Object.values(VERBS).find((verb) => verb === this.getAttribute("value"));
    const focused = this.shadowRoot.activeElement;
    const button = (look, act, ...content) =>
      make(
        "button",
        { type: "button", class: look, onclick: act },
        ...content,
        make("span", { class: "unseen" }, ` ${this.#title}`),
      );
    const offer = (sign) => button(VERBS[sign], () => this.preclick(sign), face(sign), say(`${VERBS[sign]}.button`));
    const said = () => [
      make("span", { class: "said", tabindex: "-1" }, face(value === "like" ? 1 : -1), say(`${value}.said`)),
      button("quiet", () => this.#confirmed("advised-undo"), say("undo")),
    ];
    const shown = value ? said() : [offer(1), offer(-1)];
    const before = this.#parts;
    this.#parts = [
      make("div", { class: "choice", role: "group", "aria-label": this.#title }, ...shown),
      make("p", { class: "note", role: "status" }, ...note),
    ];
    for (const part of before) part.remove(); // not the dialog, in which she may be asked
    this.shadowRoot.prepend(...this.#parts);
    // After a click the focus rests on what she said, not on Undo: a second Enter must not take it back.
    if (focused && !this.asks) this.shadowRoot.querySelector(".said, button").focus();
  }

  // --- the advice -----------------------------------------------------------------------------------------------

  #ask(sign) {
    this.#meant = sign;
    this.#dialog ??= this.#makeDialog();
    this.shadowRoot.append(this.#dialog.element);
    this.#show(sign);
    this.#dialog.element.showModal();
    (this.#dialog.element.querySelector(".advised") ?? this.#dialog.question).focus();
  }

  #makeDialog() {
    const button = (act, ...content) => make("button", { type: "button", onclick: act }, ...content);
    const parts = {
      question: make("h2", { id: "question", tabindex: "-1" }),
      zone: make("span"),
      verdict: make("p", { class: "verdict" }),
      company: make("p", { class: "company" }),
      effects: make("ul", { class: "effects" }),
      other: make("p", { class: "other" }),
      confirm: button(({ isTrusted }) => isTrusted && this.#decide(this.#sign)),
      change: button(() => this.#show(-this.#sign)),
      cancel: button(() => this.#decide(null), say("cancel")),
      device: make("p", { class: "device" }, say("not_sent")),
      why: make("p", { class: "why" }),
      picture: zonePicture(),
    };
    const key = (kind) => {
      const sample = make("circle", { class: kind, cx: 8, cy: 8, r: 5.5 });
      return make("span", {}, make("svg", { viewBox: "0 0 16 16" }, sample), "");
    };
    parts.mine = key("dot");
    parts.instead = key("ring");
    parts.key = make("p", { class: "key", "aria-hidden": "true" }, parts.mine, parts.instead);
    const element = make(
      "dialog",
      { "aria-labelledby": "question", "aria-describedby": "summary effects" },
      parts.question,
      make("div", { id: "summary", "aria-live": "polite" }, parts.zone, parts.verdict, parts.company),
      make("div", { class: "where" }, parts.picture.drawing, parts.key),
      make("div", { id: "effects", "aria-live": "polite" }, parts.effects, parts.other, parts.device),
      make("div", { class: "actions" }, parts.why, parts.confirm, parts.change, parts.cancel),
    );
    element.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#decide(null);
    });
    element.addEventListener("click", (event) => event.target === element && this.#decide(null));
    return { element, ...parts };
  }

  #show(sign) {
    this.#sign = sign;
    const [at, advice, verb] = [this.#dialog, this.advice(sign), VERBS[sign]];
    const zone = advice?.zone ?? "unknown";
    at.question.replaceChildren(...around(`${verb}.ask`, this.#title));
    at.zone.className = `zone ${zone}`;
    at.zone.textContent = !advice
      ? say("zone.not_known")
      : advice.doubt ? say("zone.near", { zone: ZONE_NAMES[zone] }) : ZONE_NAMES[zone];
    const told = advice ? verdict(advice.signs) : this.#silence();
    at.verdict.textContent = advice?.doubt ? say("doubt", { verdict: told }) : told;
    const errors = advice?.about && !advice.doubt ? ` ${errorsOf(advice.wrong)}` : "";
    at.company.textContent = advice ? company(advice.a, advice.b, sign, advice.about) + errors : "";
    const effects = advice ? lines(advice.a, advice.b, advice.n, advice, this.base) : [];
    at.effects.replaceChildren(...effects.map(effectRow));
    const changed = sign !== this.#meant;
    at.other.textContent = changed
      ? say(`${VERBS[this.#meant]}.meant`)
      : advice ? opposite(advice, sign, this.base) : "";
    at.picture.show(advice);
    at.key.hidden = !advice;
    at.mine.setAttribute("class", zone);
    at.mine.lastChild.data = say(`${verb}.key`);
    at.instead.lastChild.data = say(`${VERBS[-sign]}.key.instead`);
    this.#offer(advice, changed);
  }

  #silence() {
    if (this.table.knows(this.getAttribute("item"))) return unknown(this.table.least);
    return say("no_counts");
  }

  /** The buttons; the one that her strategy advises stands out. */
  #offer(advice, changed) {
    const [at, strategy] = [this.#dialog, this.getAttribute("strategy")];
    const action = changed ? null : advice && this.action(advice.zone);
    at.confirm.replaceChildren(face(this.#sign), say(`${VERBS[this.#sign]}.confirm`));
    at.change.replaceChildren(face(-this.#sign), say(`${VERBS[-this.#sign]}.change`));
    for (const name of ["confirm", "change", "cancel"]) at[name].classList.toggle("advised", name === action);
    const usual = action === STRATEGIES[strategy]?.[advice?.zone];
    at.why.textContent = action ? say(usual ? `strategy.${strategy}.${action}` : `choice.${action}`) : "";
  }

  #decide(sign) {
    this.#dialog.element.close();
    if (sign) this.#confirmed("advised-click", sign);
    else this.#tell("advised-cancel");
  }

  /** She wants it so: the page hears of it, or its server, with a key, so that sending it again counts once. */
  #confirmed(type, sign, key = crypto.getRandomValues(new Uint32Array(4)).join("-")) {
    if (this.hasAttribute("confirm")) void this.#save(type, sign, key);
    else this.#tell(type, sign);
  }

  async #save(type, sign, key) {
    const own = this.getAttribute("confirm").replace(/\/$/, "");
    const asked = sign
      ? { method: "PUT", body: JSON.stringify({ sign: VERBS[sign] }) }
      : { method: "DELETE" };
    const headers = { "Content-Type": "application/json", "Idempotency-Key": key, "X-Recveil-Request": "1" };
    this.#choice(say("saving"));
    const answer = await fetch(`${own}/${encodeURIComponent(this.getAttribute("item"))}`, {
      ...asked, headers, credentials: "same-origin",
    }).catch(() => null);
    if (!answer?.ok) {
      const again = () => this.#confirmed(type, sign, key);
      return this.#choice(say("not_saved"), make("button", { class: "quiet", type: "button", onclick: again }, say("again")));
    }
    this.#choice();
    if (sign) this.setAttribute("value", VERBS[sign]);
    else this.removeAttribute("value");
    return this.#tell(type, sign);
  }

  #tell(type, sign) {
    const detail = { item: this.getAttribute("item"), ...(sign && { sign: VERBS[sign] }) };
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }
}

/** A question with the item's title in it; the words around the title are set apart. */
function around(name, title) {
  const [before, after] = say(name, { title: "\0" }).split("\0");
  return [make("span", {}, before), title, make("span", {}, after)];
}

function effectRow({ name, good, text }) {
  const [direction, mark] = good > 0 ? ["up", "▲"] : good < 0 ? ["down", "▼"] : ["", "■"];
  const shown = [make("i", { "aria-hidden": "true" }, mark), make("b", {}, name), make("p", {}, text)];
  return make("li", { class: direction }, ...shown);
}

customElements.define("click-advisor", ClickAdvisor);
