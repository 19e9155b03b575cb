// States that so many frames share that one line above the list replaces their marks.

import type { Frame } from "../api";

const THINKING = "thinking-dropped";
/** Up to this many rows have their own mark. */
const FEW = 2;

/** The frames without their thinking, if they are too many to mark each. */
export function withoutThinking(frames: readonly Frame[]): string[] {
  const ids = frames.filter(({ state }) => state.includes(THINKING)).map(({ id }) => id);
  return ids.length > FEW ? ids : [];
}

export const TOLD_ABOVE: readonly string[] = [THINKING];
