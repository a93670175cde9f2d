/** Elements made from data, never from markup in strings: a title cannot become a tag, and no style stands inline. */

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "g", "path", "circle", "line", "text", "title", "tspan", "rect"]);

/** make("button", {class: "quiet", onclick: f, hidden: false}, "Undo"): false and null attributes are left out. */
export function make(tag, attributes = {}, ...children) {
  const element = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null && child !== false));
  return element;
}

/** A smiling (1) or a frowning (-1) face. */
export function face(sign) {
  const mouth = sign > 0 ? "M6.6 11.6q3.4 3.6 6.8 0" : "M6.6 13.6q3.4 -3.6 6.8 0";
  return make(
    "svg",
    { class: "face", viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" },
    make("circle", { cx: 10, cy: 10, r: 8.2 }),
    make("path", { d: `M7.2 7.4v.9M12.8 7.4v.9${mouth}` }),
  );
}
