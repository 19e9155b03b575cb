// What the cache missed, as far as it is worth a word.

import type { Schemas } from "../api";

export type Misses = Schemas["Misses"];
export type Spending = Schemas["Spending"];

export interface Missed {
  request: number;
  at: number;
  tokens: number;
  /** What and why, as a sentence. */
  words: string;
  /** Where to look. */
  place: string | null;
}

/** The newest first. That nothing was cached before the first request is no news. */
export function missesOf({ misses }: Pick<Misses, "misses">): Missed[] {
  return misses.flatMap(({ request, at, miss }) =>
    miss === null || miss.cause === "first-request"
      ? []
      : [{ request, at, tokens: miss.tokens, words: miss.words, place: framed(miss.place) }],
  );
}

/** A place that the panel can show. */
function framed(place: string | null): string | null {
  return place === null || place === "" ? null : place;
}
