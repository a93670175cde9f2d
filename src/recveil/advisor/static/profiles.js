/**
 * The public item profiles, fetched again at intervals, never because of a pre-click. A catalogue of some thousand items
 * comes as one whole table: a request tells nothing about what she looks at. Of a larger one come the items that most
 * people clicked, and shards for what a page shows: some hundred items that a hash has thrown together.
 */

const EVERY = 60_000; // milliseconds
const tables = new Map();

/** The table of an API; all elements of a page share it. */
export function publicTable(api) {
  if (!tables.has(api)) tables.set(api, new Table(api));
  return tables.get(api);
}

const alone = ([likes, dislikes], people) => Math.log(people / Math.max(people - likes - dislikes, 1));

/** The first bits of the CRC-32 of an item's id, as the server cuts its catalogue. */
export function shardOf(item, bits) {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(item)) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ((crc ^ 0xffffffff) >>> 0).toString(2).padStart(32, "0").slice(0, bits);
}

class Table extends EventTarget {
  people = 0;
  least = 0; // profiles of fewer people are hidden
  profiles = new Map();
  blur = { deviation: 0, crowd: 0 }; // deviations of the noise in each counter and in the number of people
  state = "loading"; // then "ready", or "away" while there never was an answer
  #wanted = new Set(); // items that were shown, where there are shards
  #held = new Map(); // shards by name: their profiles, on their way or here

  constructor(api) {
    super();
    this.api = api;
    this.ready = this.load();
    setInterval(() => document.hidden || this.load(), EVERY);
  }

  async load() {
    try {
      const answer = await fetch(`${this.api}/profiles`, { credentials: "omit", cache: "no-cache" });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const { people, min_people: least, profiles, deviation, people_deviation: crowd, ...rest } = await answer.json();
      if (rest.version === this.version) return;
      const known = { people, least, profiles: new Map(Object.entries(profiles)), blur: { deviation, crowd } };
      Object.assign(this, known, rest, { state: "ready" }); // counters, budget, total, overspent, shards, version
      this.#held.clear();
      await this.want([]);
      this.dispatchEvent(new Event("change"));
    } catch {
      if (this.state === "loading") this.state = "away"; // until an interval later
    }
  }

  /** These items are shown: once their profiles are here, whoever listens for "more" hears of it. */
  async want(items) {
    for (const item of items) this.#wanted.add(item);
    if (!this.shards) return;
    for (const item of items) this.#take(item, this.#held.get(shardOf(item, this.shards)));
    const names = new Set([...this.#wanted].map((item) => shardOf(item, this.shards)));
    const news = [...names].filter((name) => !this.#held.has(name));
    for (const name of news) this.#held.set(name, null);
    const came = await Promise.all(news.map((name) => this.#shard(name)));
    if (came.some(Boolean)) this.dispatchEvent(new Event("more"));
  }

  async #shard(name) {
    try {
      const answer = await fetch(`${this.api}/profiles/${name}`, { credentials: "omit", cache: "no-cache" });
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      const { profiles } = await answer.json();
      this.#held.set(name, profiles);
      for (const item of this.#wanted) if (shardOf(item, this.shards) === name) this.#take(item, profiles);
      return true;
    } catch {
      this.#held.delete(name); // asked for again when something is shown, or at the next interval
      return false;
    }
  }

  /** What a shard says of an item; what it does not name is hidden. */
  #take(item, profiles) {
    if (profiles) this.profiles.set(item, profiles[item] ?? null);
  }

  /** Whether it is known what is shown of an item. */
  knows(item) {
    return this.state === "ready" && (!this.shards || this.profiles.has(item));
  }

  /** What a person without a click gives away by the items that are not here, in natural units. */
  get others() {
    let sum = this.no_click ?? 0;
    if (sum) for (const profile of this.profiles.values()) if (profile) sum -= alone(profile, this.people);
    return Math.max(sum, 0);
  }

  /** Profiles and the number of people with her own clicks in them: counts move in steps, and may not have them yet. */
  including(clicks) {
    const profiles = new Map(this.profiles);
    let people = Math.max(this.people, this.most ?? 0, 1);
    for (const { item, sign, counted } of clicks) {
      const [profile, at] = [profiles.get(item), sign === "like" ? 0 : 1];
      if (!profile || (counted && profile[at] > 0)) continue; // a count of none cannot have hers
      profiles.set(item, profile.with(at, profile[at] + 1));
    }
    for (const profile of profiles.values()) if (profile) people = Math.max(people, profile[0] + profile[1]);
    return { profiles, people };
  }
}
