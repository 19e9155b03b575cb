// Locates the line below the last row in the provider's cache.

import type { Frames } from "../api";
import { count, plural } from "../format/numbers";
import type { Row } from "./rows";

export interface Line {
  /** The row that it is drawn below. */
  below: string;
  /** The step where it ends, if the row folds it away. */
  inside: string | null;
  tokens: number;
  warm: boolean;
  /** The expiry. */
  expires: number;
}

export function cacheLine({ cache }: Frames, rows: readonly Row[]): Line | null {
  const until = cache?.until;
  if (cache == null || until == null || cache.tokens === 0) return null;
  // The provider reads the tools before the system prompt; in this list they come after it.
  const end = until === "system" && rows.some(({ id }) => id === "tools") ? "tools" : until;
  const exact = rows.find(({ id }) => id === end);
  const below = exact ?? rows.find(({ id }) => id === until.split(/[/#]/)[0]);
  if (below === undefined) return null;
  const last = below.frame.step_list?.at(-1)?.id;
  const inside = exact === undefined && until !== last ? until : null;
  return { below: below.id, inside, tokens: cache.tokens, warm: cache.warm, expires: cache.expires_at };
}

/** The state in words. */
export function cacheWords({ tokens, warm, expires, inside }: Line, now: number): string {
  const left = Math.round((expires - now) / 1000);
  if (!warm || left <= 0) return `the cache has expired: the next request re-reads ${count(tokens)} tokens`;
  const time =
    left >= 90 ? plural(Math.round(left / 60), "more minute") : plural(Math.ceil(left / 10) * 10, "more second");
  return `cached ${inside === null ? "up to here" : `up to ${inside}`}: ${count(tokens)} tokens, for ${time}`;
}
