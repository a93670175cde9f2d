/** The element as one file: its words come with it, those of the pages do not. */

import { give } from "./messages/messages.js";
import de from "./messages/advisor.de.json";
import en from "./messages/advisor.en.json";

give("advisor", { en, de });

export const { ClickAdvisor } = await import("../static/click-advisor.js");
