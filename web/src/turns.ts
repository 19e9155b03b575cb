// The order in which data is refetched after a change: first the visible data. The rest waits, because the daemon
// answers for one conversation at a time, and another window may ask for the same.

import type { View } from "./address";

/** The turn of queries that no view needs now. */
export const LAST = 2;

/** The queries of each view; they are fetched together. */
const FIRST: Record<View, readonly string[]> = {
  chat: ["frames", "frame"],
  frames: ["frames"],
  map: ["map"],
  history: ["history", "timeline"],
};

/** The data around the view. */
const SECOND: readonly string[] = ["frames", "history", "timeline", "waiting"];

/** `what`: the part of a query's key that names its data. */
export function turnOf(view: View, what: unknown): number {
  const name = String(what);
  return FIRST[view].includes(name) ? 0 : SECOND.includes(name) ? 1 : LAST;
}
