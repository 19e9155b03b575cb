// Ranks the entries that match a query.

/** 0 does not fit. Every word must occur; beginnings of words count more, and a hit near the front counts more. */
export function fit(text: string, query: string): number {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const where = text.toLowerCase();
  let score = 1;
  for (const word of words) {
    const begins = beginning(where, word);
    const at = begins === -1 ? where.indexOf(word) : begins;
    if (at === -1) return initials(where).startsWith(word) ? score + 1 : 0;
    score += (begins === -1 ? 4 : 10) + 4 / (1 + at);
  }
  return score;
}

/** Stable: entries that fit equally well stay in their order. */
export function ranked<Entry>(entries: Entry[], query: string, text: (entry: Entry) => string): Entry[] {
  if (query.trim() === "") return entries;
  return entries
    .map((entry) => ({ entry, score: fit(text(entry), query) }))
    .filter(({ score }) => score > 0)
    .sort((left, right) => right.score - left.score)
    .map(({ entry }) => entry);
}

function beginning(text: string, word: string): number {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text.charAt(at - 1))) return at;
  }
  return -1;
}

function initials(text: string): string {
  return text
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => word.charAt(0))
    .join("");
}
