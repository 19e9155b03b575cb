// The rows of the chat: a line per frame, then its steps. The list of frames suffices for the rows; their content is
// fetched when they become visible.

import type { Frame, Step } from "../api";
import { chunks, stepNumber } from "../messages/chunks";
import { align, type Pair } from "./align";

/** As sent, as the agent sees it, or both side by side. */
export type Mode = "sent" | "agent" | "both";

/** A piece of one side: which step of which frame, and what to fetch to see it. */
export interface Cell {
  /** The point of the history; the newest without one. */
  at: string | null;
  frame: string;
  /** 0 is the content before the first step. */
  step: number;
  chunk: string;
  /** Expected height. */
  height: number;
}

export type Row =
  | { kind: "frame"; key: string; frame: Frame; pair: Pair; unfolded: boolean; foldable: boolean }
  | { kind: "part"; key: string; id: string; sent: Cell | null; source: Cell | null }
  | { kind: "fold"; key: string; id: string; what: "gone" | "same"; states: string[]; steps: number; tokens: number };

interface Lists {
  mode: Mode;
  sent: readonly Frame[];
  source: readonly Frame[];
  /** The point of the history that `sent` is of; the newest without one. */
  at?: string | null;
  /** Keys of rows folded or unfolded by hand. */
  toggled: ReadonlySet<string>;
}

export function rows({ mode, sent, source, at = null, toggled }: Lists): Row[] {
  return pairsOf(mode, sent, source).flatMap((pair) => rowsOf(pair, mode, at, toggled));
}

function pairsOf(mode: Mode, sent: readonly Frame[], source: readonly Frame[]): Pair[] {
  if (mode === "both") return align(sent, source);
  if (mode === "sent") return sent.map((frame) => ({ sent: frame, source: null, offset: 0 }));
  return source.map((frame) => ({ sent: null, source: frame, offset: 0 }));
}

function rowsOf(pair: Pair, mode: Mode, at: string | null, toggled: ReadonlySet<string>): Row[] {
  const frame = pair.sent ?? pair.source;
  if (frame === null) return [];
  const key = pair.sent === null ? `source ${frame.id}` : frame.id;
  const foldable = isFolded(pair, mode);
  const unfolded = !foldable || toggled.has(key);
  const head: Row = { kind: "frame", key, frame, pair, unfolded, foldable };
  if (!unfolded) return [head];
  return [head, ...folded(parts(pair, key, at), mode, toggled)];
}

/** Whether a frame is folded into one line by default. */
function isFolded({ sent, source }: Pair, mode: Mode): boolean {
  const frame = sent ?? source;
  if (frame === null || frame.kind !== "turn") return true;
  if (mode === "both") return sent !== null && source !== null && isSame(sent);
  return mode === "sent" && frame.tokens === 0 && frame.state.includes("deleted");
}

export function isSame(frame: Frame): boolean {
  return frame.state.length === 0 && frame.tokens === frame.source_tokens;
}

interface Part {
  row: Extract<Row, { kind: "part" }>;
  step: Step | null;
}

/** The content before the first step, then the steps. */
function parts({ sent, source, offset }: Pair, key: string, at: string | null): Part[] {
  const left = sent === null ? [] : cells(sent, at);
  const right = source === null ? [] : cells(source, "source");
  const rightBegins = sent !== null && sent.id !== source?.id ? offset : 0;
  const found: Part[] = [];
  const frame = sent ?? source;
  if (frame === null) return [];
  const longest = Math.max(left.length, sent === null || sent.id === source?.id ? right.length : 0);
  for (let index = 0; index < longest; index += 1) {
    const mine = left[index] ?? null;
    // Only the first part shows the beginning of the whole.
    const other = index === 0 && rightBegins > 0 ? null : (right[index + (index === 0 ? 0 : rightBegins)] ?? null);
    const shown = mine ?? other;
    if (shown === null) continue;
    const { step } = shown;
    found.push({
      row: {
        kind: "part",
        key: `${key}/${step.number}`,
        id: step.number === 0 ? frame.id : `${frame.id}/${step.number}`,
        sent: mine?.cell ?? null,
        source: other?.cell ?? null,
      },
      step: mine?.step.step ?? other?.step.step ?? null,
    });
  }
  return found;
}

interface Side {
  cell: Cell;
  step: { number: number; step: Step | null };
}

function cells(frame: Frame, at: Cell["at"]): Side[] {
  const pieces = chunks(frame);
  const side = (number: number, step: Step | null): Side => ({
    cell: { at, frame: frame.id, step: number, chunk: pieces.get(number) ?? frame.id, height: height(step) },
    step: { number, step },
  });
  return [side(0, null), ...(frame.step_list ?? []).map((step) => side(stepNumber(step.id), step))];
}

/** An estimate before layout: a line per call, some lines of text. */
function height(step: Step | null): number {
  if (step === null) return 72;
  return 44 + 32 * step.tools.length + Math.min(220, Math.max(0, step.tokens - 200 * step.tools.length) / 4);
}

/** Neighbouring steps without interest become one line: removed ones, or those equal on both sides. */
function folded(all: Part[], mode: Mode, toggled: ReadonlySet<string>): Row[] {
  const found: Row[] = [];
  let index = 0;
  while (index < all.length) {
    const part = all[index];
    if (part === undefined) break;
    const what = foldOf(part, mode);
    let end = index + 1;
    while (what !== null && end < all.length) {
      const next = all[end];
      if (next === undefined || foldOf(next, mode) !== what) break;
      end += 1;
    }
    const run = all.slice(index, end);
    const key = `${part.row.key} ${what ?? ""}`;
    if (what === null || (what === "same" && run.length < 2)) {
      found.push(...run.map(({ row }) => row));
    } else {
      found.push(fold(run, what, key));
      if (toggled.has(key)) found.push(...run.map(({ row }) => row));
    }
    index = end;
  }
  return found;
}

function foldOf({ row, step }: Part, mode: Mode): "gone" | "same" | null {
  if (step === null) return null;
  if (mode === "both") return row.sent !== null && row.source !== null && step.state.length === 0 ? "same" : null;
  return mode === "sent" && step.tokens === 0 && step.state.length > 0 ? "gone" : null;
}

function fold(run: Part[], what: "gone" | "same", key: string): Row {
  const first = run[0]?.row.id ?? "";
  const last = run.at(-1)?.row.id ?? first;
  const steps = run.map(({ step }) => step).filter((step) => step !== null);
  return {
    kind: "fold",
    key,
    id: first === last ? first : `${first}..${stepNumber(last)}`,
    what,
    states: [...new Set(steps.flatMap(({ state }) => state))],
    steps: run.length,
    tokens: steps.reduce((sum, step) => sum + (what === "gone" ? step.source_tokens : step.tokens), 0),
  };
}

/** The estimated height of a row before layout. */
export function expected(row: Row | undefined): number {
  if (row === undefined) return 30;
  if (row.kind !== "part") return 34;
  return Math.max(row.sent?.height ?? 0, row.source?.height ?? 0);
}
