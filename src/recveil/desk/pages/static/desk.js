/** A screen of the desk: what surrounds it, and the module of this page. */

import { surround } from "./shell.js";
import { listen, trouble } from "./state.js";

if (!trouble()) {
  surround();
  const { show } = await import(`./screens/${document.body.dataset.page}.js`);
  await show(document.getElementById("screen"));
}
document.body.dataset.ready = "yes";
listen();
