// How much of the context each frame takes, for the bars.

import type { Frame } from "../api";

export interface Segment {
  id: string;
  kind: Frame["kind"];
  title: string;
  tokens: number;
  /** Of the whole strip: 0 to 1. */
  share: number;
}

/** A frame's part of the conversation; an empty conversation has no shares, not a division by zero. */
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

const MOST_SEGMENTS = 240;

/** Of very many frames those too small to be seen are drawn together with their neighbours. */
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
