/** Specs as people see them: dp-ratings:epsilon=4,delta=1e-6, or the name of a file that another tool made. */

const FILE = /^file:|[/\\]|\.\w+$/;
const isFile = (spec) => FILE.test(spec.split(":")[0] === "file" ? spec : spec.split(":")[0]);
const fileName = (spec) =>
  spec
    .replace(/^file:/, "")
    .split("/")
    .at(-1);

/** "dp-ratings (ε 4)", or the name of the file without its folder. */
export function shortSpec(spec) {
  if (isFile(spec)) return fileName(spec);
  const [name, rest] = spec.split(/:(.*)/s);
  const epsilon = /epsilon=([\d.e-]+)/.exec(rest ?? "");
  return epsilon ? `${name} (ε ${Number(epsilon[1])})` : name;
}

/** Whether two say the same: 4 is 4.0, and 1e-6 is 1e-06. */
export const sameSpec = (one, other) => canonical(one) === canonical(other);

function canonical(spec) {
  if (isFile(spec)) return fileName(spec);
  const [name, rest] = spec.split(/:(.*)/s);
  const number = (text) => (Number.isFinite(Number(text)) ? String(Number(text)) : text);
  const parts = (rest ?? "")
    .split(",")
    .filter(Boolean)
    .map((part) => part.split("="));
  return `${name}:${parts.map(([key, value]) => `${key}=${number(value)}`).join()}`;
}

/** The number of a parameter, if it has it. */
export function parameterOf(spec, name) {
  const found = new RegExp(`\\b${name}=([\\d.e-]+)`).exec(spec);
  return found ? Number(found[1]) : null;
}
