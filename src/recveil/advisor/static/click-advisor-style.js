/** The look of <click-advisor>, as a constructed sheet: a strict Content-Security-Policy lets it pass. */

export const style = new CSSStyleSheet();
style.replaceSync(`
:host {
  --paper: light-dark(#fefefe, #14171b); --panel: light-dark(#f6f7f9, #1c2026); --ink: light-dark(#1b1f24, #e8ebef);
  --muted: light-dark(#5b6470, #a3acb8); --line: light-dark(#dfe3e8, #323841); --faint: light-dark(#8a939f, #737d8a);
  --red: light-dark(#b3403a, #f08a80); --blue: light-dark(#2463b5, #82b1f5); --green: light-dark(#147a5c, #5cc9a3);
  --amber: light-dark(#8a5a00, #e0ad4c);
  display: inline-block; line-height: 1.45; text-align: start;
}
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; }
h2, p, ul { margin: 0; padding: 0; }
button {
  display: inline-flex; align-items: center; justify-content: center; gap: .4em;
  min-height: 2.5rem; padding: .3rem .9rem; border: 1px solid var(--faint); border-radius: 99px;
  background: none; color: inherit; font: inherit; font-weight: 550; cursor: pointer; touch-action: manipulation;
}
button:hover { border-color: currentColor; }
:focus-visible { outline: 2.5px solid var(--blue); outline-offset: 2px; }
.face {
  flex: none; width: 1.25em; height: 1.25em;
  fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round;
}
.safe { --c: var(--green); } .trade_off { --c: var(--blue); }
.dangerous { --c: var(--red); } .deleterious { --c: var(--amber); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.choice { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.like:hover .face { color: var(--green); }
.dislike:hover .face { color: var(--red); }
.said:focus { outline: none; }
.said:focus-visible { outline: 2.5px solid var(--blue); }
.said { display: inline-flex; align-items: center; gap: .45em; }
.quiet { border-color: transparent; padding-inline: .5rem; text-decoration: underline; text-underline-offset: .2em; }
.note { max-width: 32rem; font-size: .875rem; }
.note:not(:empty) { margin-top: .4rem; }
.note .quiet { min-height: 1.5rem; padding-block: 0; }

dialog {
  width: min(50rem, 100vw - 2rem); max-height: calc(100dvh - 2rem); padding: 1.6rem 1.75rem 0;
  overflow: auto; overscroll-behavior: contain;
  border: 1px solid var(--line); border-radius: 16px; box-shadow: 0 18px 60px rgb(0 0 0 / .28);
  background: var(--paper); color: var(--ink);
}
dialog[open] {
  display: grid; gap: 1rem 2rem;
  grid-template: "question question" "summary where" "effects where" 1fr "actions actions" / minmax(0, 1fr) 20.5rem;
}
dialog::backdrop { background: rgb(10 14 20 / .5); }
h2 {
  grid-area: question; font-size: 1.4rem; font-weight: 700; line-height: 1.25; letter-spacing: -.015em;
  text-wrap: balance; overflow-wrap: anywhere;
}
h2:focus { outline: none; }
h2 span { color: var(--muted); font-weight: 550; }
#summary { grid-area: summary; }
.zone { display: inline-flex; align-items: center; gap: .45em; color: var(--c, var(--muted)); font-weight: 700; }
.zone::before {
  content: ""; width: .8em; height: .8em; box-sizing: border-box; border-radius: 50%;
  border: 2px solid; background: currentColor;
}
.zone.unknown::before { background: none; }
.verdict { font-size: 1.125rem; line-height: 1.4; margin-top: .25rem; text-wrap: pretty; }
.company { margin-top: .75rem; }

#effects { grid-area: effects; color: var(--muted); font-size: .9375rem; }
.effects { list-style: none; display: grid; gap: .75rem; }
.effects li { display: grid; grid-template-columns: 1.1rem 1fr; gap: 0 .5rem; }
.effects b { font-weight: 650; color: var(--ink); }
.effects p { grid-column: 2; }
.effects i { font-style: normal; }
.up i { color: var(--green); } .down i { color: var(--red); }
.other, .device { margin-top: .9rem; }
.device { font-size: .875rem; }

.actions {
  grid-area: actions; position: sticky; bottom: 0; display: flex; flex-wrap: wrap; gap: .6rem; align-items: center;
  padding: 1.1rem 0 max(1.3rem, env(safe-area-inset-bottom));
  border-top: 1px solid var(--line); background: var(--paper);
}
.actions button { min-height: 2.75rem; padding-inline: 1.15rem; }
.actions .advised { background: var(--blue); border-color: var(--blue); color: var(--paper); }
.why { order: 1; font-size: .875rem; color: var(--muted); }
.why:empty { display: none; }

.where { grid-area: where; }
.zones { display: block; width: 100%; height: auto; }
.region { fill: color-mix(in srgb, var(--c) 13%, var(--paper)); stroke: var(--paper); stroke-width: 2; }
.region.here { fill: color-mix(in srgb, var(--c) 30%, var(--paper)); }
.zones text { font-size: 12px; fill: var(--muted); }
.zones .name { font-size: 13px; font-weight: 650; fill: var(--ink); }
.grid { stroke: var(--ink); stroke-opacity: .16; stroke-dasharray: 2 3; fill: none; }
.halo { fill: var(--c); fill-opacity: .22; }
.dot { fill: var(--c); stroke: var(--paper); stroke-width: 2; }
.ring { fill: none; stroke: var(--muted); stroke-width: 2; stroke-dasharray: 2.5 2.5; }
.gone { display: none; }
.key { display: flex; justify-content: center; gap: 1rem; margin-top: .4rem; font-size: .8125rem; color: var(--muted); }
.key span { display: inline-flex; align-items: center; gap: .4em; }
.key svg { width: 1em; height: 1em; }

@media (max-width: 640px) {
  button { min-height: 2.75rem; }
  dialog {
    width: 100vw; max-width: 100vw; max-height: 94dvh; margin: auto 0 0; padding: 1.2rem 1.1rem 0;
    border-radius: 18px 18px 0 0; border-width: 1px 0 0;
  }
  dialog[open] { gap: .8rem; grid-template: "question" "summary" "where" "effects" "actions" / minmax(0, 1fr); }
  .where { width: min(100%, 18.5rem); margin-inline: auto; }
  .zones text { font-size: 14px; }
  .zones .name { font-size: 15px; }
  .actions { margin-inline: -1.1rem; padding: .7rem 1.1rem max(.8rem, env(safe-area-inset-bottom)); }
  .actions button { flex: 1 1 auto; padding-inline: .7rem; }
  .why { order: 0; flex-basis: 100%; }
}
@media (max-height: 30rem) { /* a small window, or a large zoom: the buttons must not cover what they are about */
  .actions { position: static; }
  dialog { max-height: 100dvh; }
}
@media (prefers-reduced-motion: no-preference) {
  .mark, .ring { transition: transform .45s cubic-bezier(.3, .8, .3, 1); }
  .region { transition: fill .3s; }
  dialog[open] { animation: rise .22s ease-out; }
  @keyframes rise { from { opacity: 0; transform: translateY(10px); } }
}
@media (forced-colors: active) {
  .actions .advised { outline: 2px solid; }
  .dot { fill: CanvasText; } .ring { stroke: CanvasText; }
}
`);
