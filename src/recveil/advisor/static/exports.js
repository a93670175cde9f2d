/** Exports that platforms give to their people, read on her device: each becomes a list of what could be its title. */

/** Rows of a csv text: quotes may hold separators and line ends. The separator is the one its first line has most of. */
export function csvRows(text) {
  const source = text.replace(/^\ufeff/, "");
  const first = source.slice(0, source.search(/\n|$/));
  const mark = [",", ";", "\t"].sort((x, y) => first.split(y).length - first.split(x).length)[0];
  const rows = [];
  let [row, cell, quoted] = [[], "", false];
  for (let k = 0; k < source.length; k++) {
    const c = source[k];
    if (quoted) {
      if (c === '"' && source[k + 1] === '"') cell += source[++k];
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === mark || c === "\n") {
      row.push(cell.trim());
      cell = "";
      if (c === "\n") rows.push(row), (row = []);
    } else if (c !== "\r") cell += c;
  }
  if (cell || row.length) rows.push([...row, cell.trim()]);
  return rows.filter((cells) => cells.some(Boolean));
}

const TITLES = ["title", "product name", "master_metadata_track_name", "trackname", "name", "item", "movieid"];

/** [{names, rating}]: names from the most to the least exact; a rating where the export has one. */
export function readExport(text) {
  const start = text.trimStart()[0];
  if (start === "[" || start === "{") return fromJson(JSON.parse(text));
  const [head, ...rows] = csvRows(text);
  if (!head) return [];
  const lower = head.map((name) => name.toLowerCase());
  const at = TITLES.map((name) => lower.indexOf(name)).find((place) => place >= 0) ?? -1;
  const stars = lower.indexOf("rating");
  if (at < 0) return [head, ...rows].map((cells) => ({ names: variants(cells[0]) })); // no header: titles alone
  return rows.map((cells) => ({
    names: variants(cells[at] ?? ""),
    rating: stars >= 0 ? Number(cells[stars]) : undefined,
  }));
}

function fromJson(found) {
  const list = Array.isArray(found) ? found : Object.values(found).find(Array.isArray) ?? [];
  return list.map((entry) => {
    const track = entry.master_metadata_track_name ?? entry.trackName;
    const artist = entry.master_metadata_album_artist_name ?? entry.artistName;
    if (track) return { names: [`${artist} - ${track}`, track, artist].filter(Boolean) };
    const title = entry.title ?? entry.name ?? entry.episode_show_name ?? "";
    return { names: variants(String(title).replace(/^Watched /, "")), rating: entry.rating };
  });
}

/** "Dark: Season 1: Lies" may be a title, or an episode of "Dark". */
const variants = (title) => [...new Set([title, title.replace(/: (season|staffel|part|volume|limited series)\b.*$/i, "")])];

/** A title as it is compared: no case, accents, marks or year; "Matrix, The (1999)" is "the matrix". */
export function plain(title) {
  return title
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/\s*\(\d{4}\)\s*$/, "")
    .replace(/^(.*), (the|a|an|der|die|das|le|la|les|el|il)$/, "$2 $1")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** What of an export is in a catalogue (Map of ids to titles): ids with their sign, and how many entries are not. */
export function matched(entries, titles) {
  const known = new Map();
  for (const [id, title] of titles) {
    const name = plain(title);
    known.set(name, known.has(name) ? null : id); // two items with one title: nobody can tell which
  }
  const ratings = entries.map(({ rating }) => rating).filter(Number.isFinite);
  const middle = ratings.length ? (Math.min(...extremes(ratings)) + Math.max(...extremes(ratings))) / 2 : 0;
  const [found, missing] = [new Map(), new Set()];
  for (const { names, rating } of entries) {
    const name = names.find((one) => one && (titles.has(one) || known.get(plain(one))));
    if (!name) names[0] && missing.add(names[0]);
    else found.set(titles.has(name) ? name : known.get(plain(name)), Number.isFinite(rating) && rating < middle ? -1 : 1);
  }
  return { found, missing: missing.size };
}

const extremes = (values) => values.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]);
