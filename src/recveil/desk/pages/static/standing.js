/** How a bundle stands, in a sentence: who decided what, for whom, until when, on which terms. */

import { date, known, say } from "./words.js";

export function standing(found) {
  if (!found.by) return say("standing.nobody");
  const to = found.recipient && known(`recipient.${found.to}.title`, found.recipient).text;
  const terms = [
    to && say("standing.for", { to }),
    found.until && say("standing.until", { until: date(found.until) }),
    found.conditions?.length && say("standing.conditions", { conditions: found.conditions.join(", ") }),
    found.reason && say("standing.reason", { reason: found.reason }),
    found.missing && say("standing.missing", { n: found.missing }),
  ];
  const { by, role } = found;
  return [say(`standing.${found.outcome}`, { date: date(found.date), by, role }), ...terms].filter(Boolean).join("; ");
}
