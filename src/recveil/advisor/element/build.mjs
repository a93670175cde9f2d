/**
 * One file of <click-advisor> with its words: `make element` runs this with esbuild and keeps what comes out.
 *
 * node build.mjs VERSION ESBUILD: writes ../static/click-advisor-VERSION.js and element.json, which says what it was made
 * of (a hash of all sources) and the integrity that a page can ask for.
 */

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const FILES = join(HERE, "..", "..", "web", "messages", "files");
const [, , version, esbuild] = process.argv;
const { build } = (await import(pathToFileURL(esbuild).href)).default;

const PAGES = /^(history|embed|promise|problem|erasing|chart|basis|found|all|game)\b/; // words that the element never says

/** The server has the words under static/messages; on the disk they belong to the whole web. */
const messages = {
  name: "messages",
  setup(made) {
    made.onResolve({ filter: /^\.\/messages\// }, ({ path }) => ({ path: join(FILES, path.slice(11)) }));
    made.onLoad({ filter: /advisor\.\w+\.json$/ }, ({ path }) => {
      const texts = Object.entries(JSON.parse(readFileSync(path, "utf8"))).filter(([name]) => !PAGES.test(name));
      return { contents: JSON.stringify(Object.fromEntries(texts)), loader: "json" };
    });
  },
};
const file = `click-advisor-${version}.js`;
const { metafile } = await build({
  entryPoints: [join(HERE, "entry.js")],
  outfile: join(HERE, "..", "static", file),
  absWorkingDir: HERE,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  plugins: [messages],
});
const sources = Object.keys(metafile.inputs).map((path) => join(HERE, path)).sort();
const hash = createHash("sha256");
for (const path of sources) hash.update(readFileSync(path));
const made = readFileSync(join(HERE, "..", "static", file));
const integrity = `sha384-${createHash("sha384").update(made).digest("base64")}`;
const told = { file, version, integrity, bytes: made.length, sources: sources.map((path) => relative(HERE, path)), made_of: hash.digest("hex") };
writeFileSync(join(HERE, "element.json"), `${JSON.stringify(told, null, 2)}\n`);
