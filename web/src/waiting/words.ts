// The moments that a change can wait for, in words.

import type { Waiting, When, Wish } from "../api";
import { count, plural } from "../format/numbers";

export interface Choice {
  value: When;
  label: string;
}

/** What somebody can choose, with how far away each moment is where that is known. */
export function choices(waiting: Pick<Waiting, "cold_at"> | undefined, now: number): Choice[] {
  const left = waiting === undefined || waiting.cold_at === 0 ? "" : waiting.cold_at <= now ? " (it is)" : ` (${inTime(waiting.cold_at - now)})`;
  return [
    { value: "now", label: "Now" },
    { value: "cold", label: `When the cache is cold${left}` },
    { value: "near-limit", label: "Near the model’s limit" },
  ];
}

/** What a change waits for, and how far that is. */
export function waitsFor(when: When, { cold_at, tokens, limit }: Omit<Waiting, "wishes" | "conversation">, now: number): string {
  if (when === "near-limit") return `until the context nears the limit: ${count(limit)} tokens, now ${count(tokens)}`;
  if (when === "now") return "for nothing: it is made at once";
  if (cold_at <= now) return "until the cache is cold, with the next request";
  return `until the cache is cold: ${inTime(cold_at - now)}, if no request comes before`;
}

/** The same without figures, for a badge. */
export function inShort(when: When): string {
  return { now: "now", cold: "when cold", "near-limit": "near the limit" }[when];
}

function inTime(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  return minutes < 1 ? "in less than a minute" : `in ${plural(minutes, "minute")}`;
}

/** Those that wait, and those that could not be made: what somebody still has to know. */
export function shown(wishes: readonly Wish[]): Wish[] {
  return wishes.filter(({ state }) => state === "waiting" || state === "failed");
}
