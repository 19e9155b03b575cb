// The requests of a conversation as points of a plot, oldest first.

import type { TimelineEvent } from "../api";
import { exchanges } from "../history/exchanges";

export interface Turn {
  request: number;
  at: number;
  /** Tokens the model read, by how they were paid for. */
  read: number;
  written: number;
  fresh: number;
  output: number;
  /** Dollars, where the price of the model is known. */
  money: number | null;
}

export interface Turns {
  turns: Turn[];
  /** Before which request (counted from 0 in `turns`) something was committed. */
  commits: { before: number; summary: string }[];
}

/** Requests that were answered with a count; side questions are not turns. */
export function turnsOf(events: TimelineEvent[]): Turns {
  const answered = exchanges(events)
    .reverse()
    .flatMap(({ request, answer }) => {
      if (answer?.usage == null || (request !== null && !["main", "subagent"].includes(request.class))) return [];
      const { input, cache_read, cache_write, output } = answer.usage;
      const { money } = answer as { money?: number | null };
      return [
        {
          request: answer.request,
          at: request?.at ?? answer.at,
          read: cache_read,
          written: cache_write,
          fresh: input,
          output,
          money: money ?? null,
        },
      ];
    });
  const commits = events.flatMap((event) =>
    event.kind === "commit"
      ? [{ before: answered.filter(({ at }) => at <= event.at).length, summary: event.summary }]
      : [],
  );
  return { turns: answered, commits };
}

/** For the plot: each area stands on those before it. */
export function stacked(turns: Turn[]): { x: number[]; read: number[]; written: number[]; whole: number[] } {
  return {
    x: turns.map((_, index) => index + 1),
    read: turns.map(({ read }) => read),
    written: turns.map(({ read, written }) => read + written),
    whole: turns.map(({ read, written, fresh }) => read + written + fresh),
  };
}

export interface Totals {
  requests: number;
  read: number;
  cached: number;
  money: number | null;
}

/** Of everything the model read, how much came from the cache; what it cost as far as prices are known. */
export function totals(turns: Turn[]): Totals {
  const whole = turns.reduce((sum, { read, written, fresh }) => sum + read + written + fresh, 0);
  const cached = turns.reduce((sum, { read }) => sum + read, 0);
  const priced = turns.filter(({ money }) => money !== null);
  return {
    requests: turns.length,
    read: whole,
    cached: whole === 0 ? 0 : cached / whole,
    money: priced.length === 0 ? null : priced.reduce((sum, { money }) => sum + (money ?? 0), 0),
  };
}
