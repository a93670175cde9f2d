/** Recommendations on her device: the public model of items, made with noise, meets her own clicks here. */

/** The model of an API, and where its items are. */
export async function publicModel(api) {
  const answer = await fetch(`${api}/model`, { credentials: "omit", cache: "no-cache" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const model = await answer.json();
  return { ...model, place: new Map(model.items.map((item, n) => [item, n])) };
}

/** Items that are like what she likes, best first; none where the model knows none of them. */
export function similar({ items, place, starts, alike, weight }, clicks, n) {
  const scores = new Map();
  for (const { item, sign } of clicks) {
    const row = sign === "like" ? place.get(item) : undefined;
    if (row === undefined) continue;
    for (let k = starts[row]; k < starts[row + 1]; k++) scores.set(alike[k], (scores.get(alike[k]) ?? 0) + weight[k]);
  }
  const clicked = new Set(clicks.map(({ item }) => item));
  const order = [...scores].sort(([x, a], [y, b]) => b - a || x - y).map(([at]) => items[at]);
  return order.filter((item) => !clicked.has(item)).slice(0, n);
}

/** The most liked items that are not in a set, found in one pass. */
export function mostLiked(profiles, without, n) {
  const best = [];
  for (const [item, profile] of n > 0 ? profiles : []) {
    const likes = profile?.[0] ?? 0;
    if ((best.length === n && likes <= best[n - 1][1]) || without.has(item)) continue;
    let at = best.length;
    while (at > 0 && best[at - 1][1] < likes) at--;
    best.splice(at, 0, [item, likes]);
    best.length = Math.min(best.length, n);
  }
  return best.map(([item]) => item);
}
