/** The look of <click-advisor>, as a constructed sheet: a strict Content-Security-Policy lets it pass. */

export const style = new CSSStyleSheet();
style.replaceSync(`
:host {
  --paper: light-dark(#fefefe, #14171b); --panel: light-dark(#f6f7f9, #1c2026); --ink: light-dark(#1b1f24, #e8ebef);
  --muted: light-dark(#5b6470, #a3acb8); --line: light-dark(#dfe3e8, #323841); --faint: light-dark(#8a939f, #737d8a);
  --safe: light-dark(#147a5c, #5cc9a3); --trade: light-dark(#2463b5, #82b1f5);
  --dangerous: light-dark(#b3403a, #f08a80); --deleterious: light-dark(#8a5a00, #e0ad4c);
  display: inline-block; color: var(--ink); font: inherit; line-height: 1.45; text-align: start;
}
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
h2, p, ul { margin: 0; padding: 0; }
button {
  display: inline-flex; align-items: center; justify-content: center; gap: .4em; min-height: 2.5rem; padding: .3rem .9rem;
  border: 1px solid var(--faint); border-radius: 99px; background: var(--paper); color: var(--ink);
  font: inherit; font-weight: 550; cursor: pointer; touch-action: manipulation;
}
button:hover { border-color: var(--ink); background: var(--panel); }
button:focus-visible, [tabindex]:focus-visible { outline: 2.5px solid var(--trade); outline-offset: 2px; }
.face { width: 1.25em; height: 1.25em; flex: none; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; }

.choice { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.like:hover .face { color: var(--safe); }
.dislike:hover .face { color: var(--dangerous); }
.said { display: inline-flex; align-items: center; gap: .45em; color: var(--muted); }
.said .face { color: var(--ink); }
.note { margin-top: .4rem; max-width: 32rem; font-size: .875rem; color: var(--muted); }
.quiet { border-color: transparent; background: none; text-decoration: underline; text-underline-offset: .2em; padding-inline: .5rem; }
.note .quiet { min-height: 0; font-weight: inherit; }

dialog {
  width: min(50rem, 100vw - 2rem); max-height: calc(100dvh - 2rem); padding: 0; overflow: auto; overscroll-behavior: contain;
  border: 1px solid var(--line); border-radius: 16px; background: var(--paper); color: var(--ink);
  box-shadow: 0 18px 60px rgb(0 0 0 / .28);
}
dialog::backdrop { background: rgb(10 14 20 / .5); }
.sheet { padding: 1.6rem 1.75rem 1.5rem; display: grid; grid-template-columns: minmax(0, 1fr) 20.5rem; gap: 1rem 2rem; }
h2 { grid-column: 1 / -1; font-size: 1.4rem; font-weight: 700; line-height: 1.25; letter-spacing: -.015em; text-wrap: balance; overflow-wrap: anywhere; }
h2 span { color: var(--muted); font-weight: 550; }
.zone { color: var(--c, var(--muted)); font-weight: 700; display: inline-flex; align-items: center; gap: .45em; }
.zone::before { content: ""; width: .72em; height: .72em; border-radius: 50%; border: 2px solid; background: currentColor; }
.safe { --c: var(--safe); } .trade_off { --c: var(--trade); }
.dangerous { --c: var(--dangerous); } .deleterious { --c: var(--deleterious); }
.zone.unknown::before { background: none; }
.verdict { font-size: 1.125rem; line-height: 1.4; margin-top: .25rem; text-wrap: pretty; }
.company { margin-top: .9rem; }
.effects { list-style: none; margin-top: .9rem; display: grid; gap: .75rem; }
.effects li { display: grid; grid-template-columns: 1.5rem 1fr; gap: 0 .55rem; }
.effects b { font-weight: 650; }
.effects p { grid-column: 2; color: var(--muted); font-size: .9375rem; }
.effects i { font-style: normal; font-weight: 700; text-align: center; color: var(--muted); }
.effects .up i { color: var(--safe); } .effects .down i { color: var(--dangerous); }
.other { margin-top: .9rem; color: var(--muted); font-size: .9375rem; }
.device { margin-top: .9rem; color: var(--muted); font-size: .875rem; }
.actions {
  grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin-top: .2rem; padding-top: 1.1rem;
  border-top: 1px solid var(--line);
}
.actions button { min-height: 2.75rem; padding-inline: 1.15rem; }
.actions .advised { background: var(--trade); border-color: var(--trade); color: var(--paper); }
.actions .advised:hover { filter: brightness(1.08); }
.actions .why { flex-basis: 100%; font-size: .875rem; color: var(--muted); }

.where { align-self: center; }
.zones { display: block; width: 100%; height: auto; }
.region { fill: color-mix(in srgb, var(--c) 13%, var(--paper)); stroke: var(--paper); stroke-width: 2; }
.region.here { fill: color-mix(in srgb, var(--c) 30%, var(--paper)); }
.zones text { font-size: 13px; fill: var(--muted); }
.zones .name { font-weight: 650; fill: var(--ink); }
.zones .tick, .zones .axis { font-size: 12px; }
.grid { stroke: var(--ink); stroke-opacity: .16; stroke-dasharray: 2 3; fill: none; }
.halo { fill: var(--c); fill-opacity: .22; }
.dot { fill: var(--c); stroke: var(--paper); stroke-width: 2; }
.ring { fill: none; stroke: var(--muted); stroke-width: 2; stroke-dasharray: 2.5 2.5; }
.gone { display: none; }
.key { display: flex; flex-wrap: wrap; justify-content: center; gap: .1rem 1rem; font-size: .8125rem; color: var(--muted); margin-top: .4rem; }
.key span { display: inline-flex; align-items: center; gap: .4em; }
.key svg { width: 1em; height: 1em; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

@media (max-width: 640px) {
  button { min-height: 2.75rem; }
  dialog { width: 100vw; max-width: 100vw; max-height: 92dvh; margin: auto 0 0; border-radius: 18px 18px 0 0; border-width: 1px 0 0; }
  .sheet { grid-template-columns: minmax(0, 1fr); padding: 1.3rem 1.1rem 0; gap: 1rem; }
  .zones { max-width: 21rem; margin-inline: auto; }
  .actions { position: sticky; bottom: 0; background: var(--paper); margin-inline: -1.1rem; padding: .8rem 1.1rem max(.9rem, env(safe-area-inset-bottom)); }
  .actions button { flex: 1 1 auto; }
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
