// The conditions of deferred edits, in words.

import type { ClearTarget, Waiting, When, DeferredEdit } from "../api";
import { targetWords } from "../context/words";
import { count, plural } from "../format/numbers";

export interface Choice {
  value: When;
  label: string;
}

/** The selectable conditions, with the time or tokens left where known. */
export function choices(waiting: Pick<Waiting, "cold_at"> | undefined, now: number): Choice[] {
  const left = waiting === undefined || waiting.cold_at === 0 ? "" : waiting.cold_at <= now ? " (now)" : ` (${inTime(waiting.cold_at - now)})`;
  return [
    { value: "now", label: "Now" },
    { value: "cold", label: `When the cache is cold${left}` },
    { value: "near-limit", label: "Near the model’s limit" },
  ];
}

/** The condition of a deferred edit, with the time or tokens left. */
export function waitsFor(when: When, { cold_at, tokens, limit }: Omit<Waiting, "wishes" | "conversation">, now: number): string {
  if (when === "near-limit") return `until the context nears the limit: ${count(limit)} tokens, now ${count(tokens)}`;
  if (when === "accepted") return "for your decision";
  if (when === "now") return "for nothing: it is applied at once";
  if (cold_at <= now) return "until the cache is cold, with the next request";
  return `until the cache is cold: ${inTime(cold_at - now)}, unless a request comes first`;
}

/** The same without figures, for a badge. */
export function inShort(when: When): string {
  return { now: "now", cold: "when cold", "near-limit": "near the limit", accepted: "if accepted" }[when];
}

function inTime(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  return minutes < 1 ? "in less than a minute" : `in ${plural(minutes, "minute")}`;
}

/** Pending and failed ones: those that the user still needs to know. */
export function shown(edits: readonly DeferredEdit[]): DeferredEdit[] {
  return edits.filter(({ state }) => state === "waiting" || state === "failed");
}

/** It waits for a decision. The automatic editor proposes, and so may any client of the API. */
export function isProposal({ when }: Pick<DeferredEdit, "when">): boolean {
  return when === "accepted";
}

export function isAutomatic({ author }: Pick<DeferredEdit, "author">): boolean {
  return author === "policy";
}

/** It only clears tool results, as all proposals of the automatic editor do. */
export function clearsResults({ operations }: Pick<DeferredEdit, "operations">): boolean {
  return operations.length > 0 && operations.every(({ op }) => op === "summarize-results" || op === "drop-results");
}

/** "1 proposal, 2 changes waiting". */
export function heading(edits: readonly DeferredEdit[]): string {
  const proposals = edits.filter((edit) => isProposal(edit));
  const others = edits.length - proposals.length;
  const whose = proposals.every((edit) => isAutomatic(edit)) ? " of the automatic editor" : "";
  const parts = [
    proposals.length > 0 ? `${plural(proposals.length, "proposal")}${whose}` : null,
    others > 0 ? `${plural(others, "deferred edit")}` : null,
  ];
  return parts.filter((part) => part !== null).join(", ");
}

/** "stale_tool_results (an old result)" → "old results". Unknown words stay. */
export function reasonWords(reason: string): string {
  const [, name = "", more = ""] = /^([a-z]+(?:_[a-z]+)+)(?: \((.*)\))?$/.exec(reason) ?? [];
  if (name === "") return reason;
  const known = targetWords(name as ClearTarget) as string | undefined;
  return known ?? `${name.replaceAll("_", " ")}${more === "" ? "" : `: ${more}`}`;
}

export interface Goes {
  results: number;
  why: string;
}

/** The content that a proposal clears, by reason; the most first. */
export function goes({ operations, reasons }: Pick<DeferredEdit, "operations" | "reasons">): Goes[] {
  const found = new Map<string, number>();
  operations.forEach((operation, index) => {
    const why = reasonWords(reasons[index] ?? "no reason given");
    const calls = "select" in operation ? (operation.select?.calls?.length ?? 0) : 0;
    found.set(why, (found.get(why) ?? 0) + Math.max(1, calls));
  });
  return [...found].map(([why, results]) => ({ why, results })).sort((left, right) => right.results - left.results);
}

/** The target: "t1 … t6 (6 frames)" of "summarize-results t1 … t6 (6 frames), 3101 tokens less". */
export function placeOf(summary: string): string | null {
  return /^[a-z-]+ (.+), [\d,]+ tokens less$/.exec(summary)?.[1] ?? null;
}

/** A proposal in one line. */
export function proposalWords(edit: Pick<DeferredEdit, "operations" | "summary" | "tokens_before" | "tokens_after">): string {
  const { summary, tokens_before, tokens_after } = edit;
  const where = clearsResults(edit) ? placeOf(summary) : null;
  return where === null ? summary : `Clear results of ${where}, ${count(tokens_before - tokens_after)} tokens less`;
}
