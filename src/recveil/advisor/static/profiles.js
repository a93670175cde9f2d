/**
 * The public item profiles, fetched as one whole table and again at intervals, never for one item and never because of
 * what a person does: a request tells nothing about what she looks at.
 */

const EVERY = 60_000; // milliseconds
const tables = new Map();

/** The table of an API; all elements of a page share it. */
export function publicTable(api) {
  if (!tables.has(api)) tables.set(api, new Table(api));
  return tables.get(api);
}

class Table extends EventTarget {
  people = 0;
  least = 0; // profiles of fewer people are hidden
  profiles = new Map();
  blur = { deviation: 0, crowd: 0 }; // deviations of the noise in each counter and in the number of people
  state = "loading"; // then "ready", or "away" while there never was an answer

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
      Object.assign(this, known, rest, { state: "ready" }); // counters, budget, total, overspent, version
      this.dispatchEvent(new Event("change"));
    } catch {
      if (this.state === "loading") this.state = "away"; // until an interval later
    }
  }

  /** Profiles and the number of people with her own clicks in them: counts move in steps, and may not have them yet. */
  including(clicks) {
    const profiles = new Map(this.profiles);
    let people = Math.max(this.people, 1);
    for (const { item, sign, counted } of clicks) {
      const [profile, at] = [profiles.get(item), sign === "like" ? 0 : 1];
      if (!profile || (counted && profile[at] > 0)) continue; // a count of none cannot have hers
      profiles.set(item, profile.with(at, profile[at] + 1));
    }
    for (const profile of profiles.values()) if (profile) people = Math.max(people, profile[0] + profile[1]);
    return { profiles, people };
  }
}
