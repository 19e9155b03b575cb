// The line below the last row that the provider has cached.

import type { Frames } from "../api";
import { count } from "../format/numbers";
import type { Row } from "./rows";

export interface Line {
  /** The row that it is drawn below. */
  below: string;
  tokens: number;
  warm: boolean;
  /** When it is forgotten, if that is known. */
  until: number | null;
}

/** What the daemon tells about it; nothing before the first answer. */
interface Cache {
  until?: string | null;
  tokens?: number;
  warm?: boolean;
  expires_at?: number | null;
}

export function cacheLine(frames: Frames, rows: readonly Row[]): Line | null {
  const cache = (frames as Frames & { cache?: Cache | null }).cache;
  const until = cache?.until;
  if (cache == null || until == null || (cache.tokens ?? 0) === 0) return null;
  // While the frame is folded the line stands below it, although it may end inside.
  const below = rows.find(({ id }) => id === until) ?? rows.find(({ id }) => id === until.split(/[/#]/)[0]);
  if (below === undefined) return null;
  return { below: below.id, tokens: cache.tokens ?? 0, warm: cache.warm === true, until: cache.expires_at ?? null };
}

/** In words, as of now. */
export function cacheWords({ tokens, warm, until }: Line, now: number): string {
  const left = until === null ? null : Math.max(0, Math.round((until - now) / 1000));
  if (!warm || left === 0) return `cache is cold: ${count(tokens)} tokens are read anew`;
  const time = left === null ? "" : left >= 90 ? `, warm for ${Math.round(left / 60)} more minutes` : `, warm for ${left} more seconds`;
  return `cached up to here: ${count(tokens)} tokens${time}`;
}
