// Each frame's share of the context, for the bars.

import type { Frame } from "../api";

export interface Segment {
  id: string;
  kind: Frame["kind"];
  title: string;
  tokens: number;
  /** Of the whole strip: 0 to 1. */
  share: number;
}

/** A frame's share of the conversation; an empty conversation has none. */
export function share(tokens: number, total: number): number {
  if (!(total > 0) || !(tokens > 0)) return 0;
  return Math.min(1, tokens / total);
}

/**
 * The strip above the frames: one segment a frame, in order. The whole strip is the model's window when it is known
 * and the conversation fits, so that the empty rest is the room left; otherwise the conversation itself.
 */
export function segments(frames: Frame[], window: number | null): { segments: Segment[]; free: number } {
  const total = frames.reduce((sum, frame) => sum + Math.max(0, frame.tokens), 0);
  const whole = window !== null && window >= total ? window : total;
  const all = frames
    .filter((frame) => frame.tokens > 0)
    .map(({ id, kind, title, tokens }) => ({ id, kind, title, tokens, share: share(tokens, whole) }));
  return {
    segments: merged(all),
    free: whole > 0 ? (whole - total) / whole : 0,
  };
}

export interface LegendEntry {
  kind: Frame["kind"] | "free";
  label: string;
  tokens: number;
}

/** The legend of the strip, with the tokens of each colour; omits colours without tokens. */
export function legend(frames: readonly Frame[], window: number | null): LegendEntry[] {
  const of = (kind: Frame["kind"]) =>
    frames.filter((frame) => frame.kind === kind).reduce((sum, { tokens }) => sum + Math.max(0, tokens), 0);
  const turns = frames.filter(({ kind, tokens }) => kind === "turn" && tokens > 0).length;
  const used = of("system") + of("tools") + of("turn");
  const entries: LegendEntry[] = [
    { kind: "system", label: "system prompt", tokens: of("system") },
    { kind: "tools", label: "tools", tokens: of("tools") },
    { kind: "turn", label: turns === 1 ? "1 frame" : `${turns} frames, one segment each:`, tokens: of("turn") },
    { kind: "free", label: "free", tokens: window === null ? 0 : window - used },
  ];
  return entries.filter(({ tokens }) => tokens > 0);
}

const MOST_SEGMENTS = 240;

/** Combines frames that are too small to see with their neighbours. */
function merged(all: Segment[]): Segment[] {
  if (all.length <= MOST_SEGMENTS) return all;
  const least = 1 / MOST_SEGMENTS;
  const result: Segment[] = [];
  for (const segment of all) {
    const last = result.at(-1);
    if (last !== undefined && last.kind === segment.kind && last.share < least) {
      last.tokens += segment.tokens;
      last.share += segment.share;
    } else {
      result.push({ ...segment });
    }
  }
  return result;
}
