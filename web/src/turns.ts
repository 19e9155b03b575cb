// In which turn something is asked for again after a change: what the user looks at first. The rest waits for it: the
// daemon answers for one conversation at a time, and another window may ask for the same.

import type { View } from "./address";

/** The turn of what nobody waits for. */
export const LAST = 2;

/** What each view is drawn of; all of it is asked for together. */
const FIRST: Record<View, readonly string[]> = {
  chat: ["frames", "frame"],
  frames: ["frames"],
  map: ["map"],
  history: ["history", "timeline"],
};

/** What stands around the view. */
const SECOND: readonly string[] = ["frames", "history", "timeline", "waiting"];

/** `what`: the part of a query's key that says what is asked for. */
export function turnOf(view: View, what: unknown): number {
  const name = String(what);
  return FIRST[view].includes(name) ? 0 : SECOND.includes(name) ? 1 : LAST;
}
