// The rows of the frames view: frames, and below an unfolded one its steps.

import type { Frame, Frames, Step } from "../api";

export interface Row {
  id: string;
  frame: Frame;
  /** Of a step's row. */
  step: Step | null;
  /** Tokens of the row, now and before edits. */
  tokens: number;
  source: number;
  /** The length of its bar, 0 to 1: the largest of its kind has 1. */
  length: number;
  ghost: number;
}

export function rowsOf({ frames }: Frames, unfolded: ReadonlySet<string>): Row[] {
  const largest = Math.max(1, ...frames.map(({ tokens, source_tokens }) => Math.max(tokens, source_tokens)));
  return frames.flatMap((frame) => {
    const row: Row = {
      id: frame.id,
      frame,
      step: null,
      tokens: frame.tokens,
      source: frame.source_tokens,
      length: frame.tokens / largest,
      ghost: frame.source_tokens / largest,
    };
    return unfolded.has(frame.id) ? [row, ...stepRows(frame)] : [row];
  });
}

function stepRows(frame: Frame): Row[] {
  const steps = frame.step_list ?? [];
  const largest = steps.reduce((most, { tokens, source_tokens }) => Math.max(most, tokens, source_tokens), 1);
  return steps.map((step) => ({
    id: step.id,
    frame,
    step,
    tokens: step.tokens,
    source: step.source_tokens,
    length: step.tokens / largest,
    ghost: step.source_tokens / largest,
  }));
}

export function foldable(frame: Frame): boolean {
  return (frame.step_list?.length ?? 0) > 0;
}

/** Frames listed without their steps, with the steps known before. */
export function withSteps(frames: Frames, before: Frames): Frames {
  const known = new Map(before.frames.map(({ id, step_list }) => [id, step_list]));
  const kept = frames.frames.map((frame) => ({ ...frame, step_list: known.get(frame.id) ?? null }));
  return { ...frames, frames: kept };
}
