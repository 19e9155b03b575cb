// The cache misses worth mentioning.

import type { Schemas } from "../api";

export type Misses = Schemas["Misses"];
export type Spending = Schemas["Spending"];

export interface Missed {
  request: number;
  at: number;
  tokens: number;
  /** The miss and its cause, as a sentence. */
  words: string;
  /** The place to look at. */
  place: string | null;
}

/** Newest first. Omits the miss of the first request, which is always there. */
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
