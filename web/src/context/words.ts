// Texts and shares for the usage of the window.

import type { ClearTarget, ContextFill, Mode, Standing, Status } from "../api";
import { count, dollars, percent, plural } from "../format/numbers";

export const STANDINGS: Record<Standing, { label: string; color: string }> = {
  normal: { label: "NORMAL", color: "gray" },
  "near-limit": { label: "NEAR LIMIT", color: "orange" },
  over: { label: "OVER", color: "red" },
};

export const MODES: Record<Mode, string> = {
  off: "off: clears nothing",
  observe: "observe: records what it would clear, without clearing",
  ask: "ask: proposes edits for you to accept",
  on: "on: clears automatically",
};

const TARGETS: Record<ClearTarget, string> = {
  stale_tool_results: "old results",
  completed_phase_details: "finished phases",
  superseded_file_reads: "files read again or changed later",
  intermediate_outputs: "finished tool loops",
  verbose_debug: "long command output",
};

export function targetWords(target: ClearTarget): string {
  return TARGETS[target];
}

/** The clearable tokens. */
export function clearable({ clearable: kinds }: Pick<ContextFill, "clearable">): number {
  return kinds.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** A share that may be more than the whole. */
export function filled(tokens: number, window: number): string {
  return window > 0 && tokens > window ? `${Math.round((tokens / window) * 100)}%` : percent(window > 0 ? tokens / window : 0);
}

export interface Parts {
  preserved: number;
  clearable: number;
  other: number;
  free: number;
  /** The usage from which the limit counts as near. */
  threshold: number;
}

/** The window as a bar: shares of one. A context larger than the window fills it. */
export function parts(fill: ContextFill): Parts {
  const whole = Math.max(fill.window, fill.tokens, 1);
  const kept = Math.min(fill.preserved, fill.tokens);
  const goes = Math.min(clearable(fill), fill.tokens - kept);
  return {
    preserved: kept / whole,
    clearable: goes / whole,
    other: (fill.tokens - kept - goes) / whole,
    free: (whole - fill.tokens) / whole,
    threshold: Math.min(1, (fill.threshold_percent * fill.window) / 100 / whole),
  };
}

export interface Fact {
  name: string;
  value: string;
  /** The composition. */
  list?: string[];
  /** Its part of the bar. */
  part?: keyof Parts;
}

/** `calibrated`: the provider has counted once. `week`: the newest replay of this home's conversations. */
export function facts(fill: ContextFill, calibrated: boolean, now: number, week?: Week): Fact[] {
  const { tokens, window, status, mode, threshold_percent, saved, saved_automatically, noted, phases, cache } = fill;
  const by = calibrated ? "counted by the provider" : "estimated until the provider’s first count";
  const kinds = fill.clearable.filter((kind) => kind.tokens > 0);
  const found: (Fact | null)[] = [
    { name: "Used", value: `${count(tokens)} of ${count(window)} tokens, ${filled(tokens, window)}; ${by}` },
    { name: "Status", value: `${STANDINGS[status].label}${status === "over" ? ": larger than the model’s window" : ""}; threshold ${threshold_percent}%` },
    { name: "Automatic editing", value: `${MODES[mode]}${fill.provider_edits ? "; provider editing is on too" : ""}` },
    { name: "Preserved", value: `${count(fill.preserved)} tokens of pinned, preserved or recent results`, part: "preserved" },
    {
      name: "Clearable",
      value: `${count(clearable(fill))} tokens${kinds.length > 1 ? ", in this order" : ""}`,
      part: "clearable",
      list: kinds.map((kind) => `${targetWords(kind.target)}: ${count(kind.tokens)}`),
    },
    { name: "Saved", value: `${count(saved)} tokens per request${saved > 0 ? `, ${count(saved_automatically)} by automatic editing` : ""}` },
    fill.account ? account(fill.account) : null,
    fill.account && fill.account.exceptions > 0 ? exceptions(fill.account) : null,
    fill.account ? { name: "Next", value: fill.account.next } : null,
    fill.left_out > 0 ? { name: "Cleared", value: `${count(fill.left_out)} tokens by the provider` } : null,
    noted > 0 ? { name: "Would save", value: `${count(noted)} more tokens in mode “on”` } : null,
    week && mode !== "on" ? { name: newest(week), value: replayed(week) } : null,
    fill.proposals > 0 ? { name: "Proposed", value: `${plural(fill.proposals, "change")}, see below` } : null,
    phases.length > 0 ? { name: "Open phases", value: phases.join(", ") } : null,
    cache === null ? null : { name: "Cache", value: cacheState(cache, now) },
    fill.hindrances.length > 0 ? { name: "Problems", value: fill.hindrances.join("; ") } : null,
  ];
  return found.filter((fact) => fact !== null);
}

export type Week = Status["week"];

function newest({ conversations }: NonNullable<Week>): string {
  return conversations === 1 ? "Last conversation" : `Last ${plural(conversations, "conversation")}`;
}

/** The result of `ctx lab week`: mode “on” for the newest conversations. */
function replayed({ cost, saved, saved_range: range, harmed_steps: harmed, steps }: NonNullable<Week>): string {
  const change = saved < 0 ? `cost ${dollars(-saved)} more than` : `saved ${dollars(saved)} of`;
  const likely = range === null ? "" : ` (likely ${range.map(dollars).join(" to ")})`;
  return `mode “on” would have ${change} ${dollars(cost)}${likely} and harmed ${count(harmed)} of ${plural(steps, "step")}`;
}

/** The savings of edits so far, or their debt until they pay off. */
function account({ spent, saved, credit, help }: NonNullable<ContextFill["account"]>): Fact {
  const balance = saved < 0 ? `${dollars(-saved)} owed by edits` : `${dollars(saved)} saved by edits`;
  const helper = help > 0 ? ` (${dollars(help)} for summaries of phases)` : "";
  return { name: "Account", value: `${dollars(spent)} spent${helper}, ${balance}; at most ${dollars(credit)} may be owed` };
}

/** Edits that the limit of the window forced, beyond the bound of the account. */
function exceptions({ exceptions: edits, exceptions_cost: cost, bound }: NonNullable<ContextFill["account"]>): Fact {
  const beyond = `beyond the bound of ${percent(bound)}`;
  return { name: "Limit exceptions", value: `${plural(edits, "edit")} near the limit of the window ${beyond}, costing ${dollars(cost)}` };
}

function cacheState({ tokens, warm, expires_at }: NonNullable<ContextFill["cache"]>, now: number): string {
  const left = Math.ceil((expires_at - now) / 60_000);
  if (!warm || left <= 0) return "cold: edits cost nothing now";
  return `warm: ${count(tokens)} tokens, for ${plural(left, "more minute")}`;
}
