/** The example platform: a shelf of the items that most people clicked, and a log of what the page hears. */

import { make } from "./dom.js";

const [LOOKED_AT, SHOWN] = [1000, 6];
const clicked = ({ profile }) => (profile ? profile.likes + profile.dislikes : 0);

const answer = await fetch(`/api/v1/items?limit=${LOOKED_AT}`);
const { items } = await answer.json();
items.sort((x, y) => clicked(y) - clicked(x));
document.getElementById("shelf").append(
  ...items.slice(0, SHOWN).map(({ id, title }, k) =>
    make(
      "li",
      {},
      make("div", { class: `poster p${k}`, "aria-hidden": "true" }, title.slice(0, 1)),
      make("h2", {}, title),
      make("click-advisor", { item: id, "item-title": title, strategy: "careful" }),
    ),
  ),
);

const heard = document.getElementById("heard");
function hear({ type, target, detail }) {
  if (type === "advised-click") target.setAttribute("value", detail.sign);
  if (type === "advised-undo") target.removeAttribute("value");
  heard.querySelector(".none")?.remove();
  heard.append(make("li", {}, make("code", {}, `${type} ${JSON.stringify(detail)}`)));
}
for (const type of ["advised-click", "advised-cancel", "advised-undo"]) addEventListener(type, hear);
