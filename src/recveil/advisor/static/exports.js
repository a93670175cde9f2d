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

// Columns as platforms call them in English, German and Spanish; the first that a file has counts.
const TITLES = [
  "title", "titel", "título", "titulo", "product name", "produktname", "nombre del producto", "master_metadata_track_name",
  "trackname", "title name", "name", "nombre", "item", "movieid",
];
const ORIGINALS = ["original title", "originaltitel", "título original"];
const RATINGS = [
  "your rating", "deine bewertung", "tu calificación", "my rating", "meine bewertung", "mi calificación", "mi valoración",
  "thumbs value", "star rating", "rating", "bewertung", "calificación", "valoración", "puntuación", "stars", "sterne", "estrellas",
];
const UNRATED = new Set(["my rating", "meine bewertung", "mi calificación", "mi valoración"]); // where 0 is none (Goodreads)
const THUMBS = "thumbs value"; // Netflix: 1 down, 2 up, 3 twice up

/** {entries: [{names, sign}], top}: names from the most to the least exact; 1 like, -1 dislike, 0 neither. top: the best rating. */
export function readExport(text) {
  const start = text.trimStart()[0];
  if (start === "<") return { entries: fromHtml(text), top: null };
  if (start === "[" || start === "{") return rated(fromJson(JSON.parse(text)));
  const [head, ...rows] = csvRows(text);
  if (!head) return { entries: [], top: null };
  const lower = head.map((name) => name.toLowerCase());
  const column = (names) => lower.indexOf(names.find((name) => lower.includes(name)));
  const [at, original, stars] = [column(TITLES), column(ORIGINALS), column(RATINGS)];
  if (at < 0) return rated([head, ...rows].map((cells) => ({ names: variants(cells[0]) }))); // no header: titles alone
  const entries = rows.map((cells) => ({
    names: [cells[at], cells[original]].filter(Boolean).flatMap(variants),
    rating: stars >= 0 ? numeral(cells[stars], lower[stars]) : undefined,
  }));
  return lower[stars] === THUMBS ? thumbs(entries) : rated(entries);
}

/** A rating as a number; null where the file has none for this entry. */
function numeral(cell, column) {
  const value = cell ? Number(cell.replace(",", ".").replace(/\s*\/.*$/, "")) : NaN;
  return Number.isFinite(value) && !(value === 0 && UNRATED.has(column)) ? value : null;
}

const thumbs = (entries) => ({
  entries: entries.map(({ names, rating }) => ({ names, sign: rating === null ? 0 : rating > 1 ? 1 : -1 })),
  top: 3,
});

/**
 * Signs by the file's own scale: 1 to 5 (or 0.5 to 5), 1 to 10, 0 to 100, or 0 and 1, by its largest rating. The middle
 * of the scale, and what has no rating, is neither. A file without ratings tells what she chose: likes.
 */
function rated(entries) {
  const ratings = entries.map(({ rating }) => rating).filter((rating) => Number.isFinite(rating));
  if (!ratings.length) return { entries: entries.map(({ names, rating }) => ({ names, sign: rating === null ? 0 : 1 })), top: null };
  const most = ratings.reduce((x, y) => Math.max(x, y));
  const [low, top] = most <= 1 ? [0, 1] : most <= 5 ? [1, 5] : most <= 10 ? [1, 10] : [0, 100];
  const [middle, around] = [(low + top) / 2, top === 10 ? 0.5 : 0]; // of ten, 5 and 6 are the middle
  const sign = (rating) => {
    if (!Number.isFinite(rating) || Math.abs(rating - middle) <= around) return 0;
    return rating > middle ? 1 : -1;
  };
  return { entries: entries.map(({ names, rating }) => ({ names, sign: sign(rating) })), top };
}

/** YouTube's "Watched X", in three languages. */
const watched = (title) =>
  title.replace(/^(watched|has visto)\s+/i, "").replace(/^(.*?)\s+(?:angesehen|gesehen)$/i, "$1").replace(/^[„“"«](.*)[“”"»]$/, "$1");

function fromJson(found) {
  const list = Array.isArray(found) ? found : Object.values(found).find(Array.isArray) ?? [];
  return list.filter((entry) => entry && typeof entry === "object").map((entry) => {
    const track = entry.master_metadata_track_name ?? entry.trackName;
    const artist = entry.master_metadata_album_artist_name ?? entry.artistName;
    if (track) return { names: [`${artist} - ${track}`, track, artist].filter(Boolean) };
    const title = entry.title ?? entry.titel ?? entry.name ?? entry.episode_show_name ?? "";
    return { names: variants(watched(String(title))), rating: entry.rating };
  });
}

/** watch-history.html: every link to a video; a parsed page loads nothing. */
function fromHtml(text) {
  const links = new DOMParser().parseFromString(text, "text/html").querySelectorAll('a[href*="watch?v="]');
  return [...links].map((link) => ({ names: variants(link.textContent.trim()), sign: 1 }));
}

const PARTS = /: (season|staffel|temporada|part|teil|parte|volume|volumen|limited series|miniserie|serie limitada)\b.*$/i;

/** "Dark: Season 1: Lies" may be a title, or an episode of "Dark"; "Dune (Dune, #1)" is "Dune". */
const variants = (title = "") => [...new Set([title, title.replace(PARTS, ""), title.replace(/\s*\([^()]*#[^()]*\)$/, "")])];

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

/** What of all exports is in a catalogue (Map of ids to titles): ids with their sign, and how many titles are not. */
export function matched(entries, titles) {
  const known = new Map();
  for (const [id, title] of titles) {
    const name = plain(title);
    known.set(name, known.has(name) ? null : id); // two items with one title: nobody can tell which
  }
  const [found, missing] = [new Map(), new Set()];
  for (const { names, sign } of entries) {
    const name = names.find((one) => one && (titles.has(one) || known.get(plain(one))));
    if (!name) names[0] && missing.add(names[0]);
    else found.set(titles.has(name) ? name : known.get(plain(name)), sign);
  }
  return { found, missing: missing.size };
}
