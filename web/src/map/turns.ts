// The requests of a conversation as points of a plot, oldest first.

import type { TimelineEvent } from "../api";
import type { Missed } from "./money";
import type { ContextMap } from "./parts";

export type Turn = ContextMap["turns"][number];

export interface Turns {
  turns: Turn[];
  /** Before which request (counted from 0 in `turns`) something was committed. */
  commits: { before: number; summary: string }[];
  /** Requests (counted from 0 in `turns`) with a cache miss, and its cause. */
  missed: ReadonlyMap<number, string>;
}

/** The timeline has the times of commits. */
export function turnsOf(turns: Turn[], events: TimelineEvent[], misses: readonly Missed[] = []): Turns {
  const commits = events.flatMap((event) =>
    event.kind === "commit"
      ? [{ before: turns.filter(({ at }) => at <= event.at).length, summary: event.summary }]
      : [],
  );
  const places = new Map(turns.map(({ request }, index) => [request, index]));
  const missed = new Map(
    misses.flatMap(({ request, words }) => {
      const place = places.get(request);
      return place === undefined ? [] : [[place, words] as const];
    }),
  );
  return { turns, commits, missed };
}

/** For the plot: each bar is in front of the next, higher one. */
export function stacked(turns: Turn[]): { x: number[]; read: number[]; written: number[]; whole: number[] } {
  return {
    x: turns.map((_, index) => index + 1),
    read: turns.map(({ cache_read }) => cache_read),
    written: turns.map(({ cache_read, cache_write }) => cache_read + cache_write),
    whole: turns.map(({ context }) => context),
  };
}

export interface Totals {
  requests: number;
  read: number;
  /** Of what was read: 0 to 1. */
  cached: number;
  money: number | null;
  /** Some prices are those of the nearest model of a family. */
  nearest: boolean;
}

/** The cached share of everything read, and the cost as far as prices are known. */
export function totals(turns: Turn[]): Totals {
  const whole = turns.reduce((sum, { context }) => sum + context, 0);
  const cached = turns.reduce((sum, { cache_read }) => sum + cache_read, 0);
  const priced = turns.filter(({ money }) => money !== null);
  return {
    requests: turns.length,
    read: whole,
    cached: whole === 0 ? 0 : cached / whole,
    money: priced.length === 0 ? null : priced.reduce((sum, { money }) => sum + (money ?? 0), 0),
    nearest: priced.some(({ priced_as }) => priced_as !== null),
  };
}
