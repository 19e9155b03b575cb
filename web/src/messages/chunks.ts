// The units of fetching. A frame of a thousand messages is megabytes, so it is fetched in pieces as they become
// visible; a small frame is one piece.

import type { Frame, Message } from "../api";

/** Frames with more steps or tokens than this are fetched in pieces. */
const LARGE = { steps: 16, tokens: 40_000 };
/** A piece ends before it becomes larger than this. */
const PIECE = { steps: 12, tokens: 30_000 };

/** The piece with each step of a frame, by the step's number; 0 is the content before the first step. */
export function chunks(frame: Frame): ReadonlyMap<number, string> {
  const steps = frame.step_list ?? [];
  const found = new Map<number, string>();
  const weight = Math.max(frame.tokens, frame.source_tokens);
  const isSmall = steps.length <= 1 || (steps.length <= LARGE.steps && weight <= LARGE.tokens);
  // In a combined frame, people speak between steps too; only the whole frame has the positions.
  if (isSmall || frame.state.includes("combined")) {
    for (const number of [0, ...steps.map(({ id }) => stepNumber(id))]) found.set(number, frame.id);
    return found;
  }
  found.set(0, beginning(frame));
  let piece: number[] = [];
  let tokens = 0;
  const close = () => {
    const [first, last] = [piece[0], piece.at(-1)];
    if (first === undefined || last === undefined) return;
    const id = first === last ? `${frame.id}/${first}` : `${frame.id}/${first}..${last}`;
    for (const number of piece) found.set(number, id);
    piece = [];
    tokens = 0;
  };
  for (const step of steps) {
    const heavy = Math.max(step.tokens, step.source_tokens);
    if (piece.length >= PIECE.steps || tokens + heavy > PIECE.tokens) close();
    piece.push(stepNumber(step.id));
    tokens += heavy;
  }
  close();
  return found;
}

/** The pieces that the newest rows are in, so many rows; the newest first. */
export function newestChunks(frames: readonly Frame[], rows: number): string[] {
  const found = new Set<string>();
  let left = rows;
  for (const frame of frames.toReversed()) {
    if (left <= 0 || frame.kind !== "turn") break;
    for (const chunk of [...chunks(frame).values()].toReversed()) {
      if (left <= 0) break;
      found.add(chunk);
      left -= 1;
    }
  }
  return [...found];
}

/** The messages before the first step. */
function beginning(frame: Frame): string {
  const inSteps = (frame.step_list ?? []).reduce((sum, { messages }) => sum + messages, 0);
  const before = Math.max(1, frame.messages - inSteps);
  return Array.from({ length: before }, (_, index) => `${frame.id}#${index}`).join(",");
}

/**
 * The messages of one step, in order. 0 is the content before the first step; messages between two steps, as in a
 * combined frame, belong to the step that answers them.
 */
export function messagesOfStep(messages: readonly Message[], wanted: number): Message[] {
  let last = 0;
  return messages.filter(({ step }, index) => {
    if (step > 0) last = step;
    const next = () => messages.slice(index).find((other) => other.step > 0)?.step;
    return (step > 0 || last === 0 ? step : (next() ?? last)) === wanted;
  });
}

/** "t3/5" → 5. */
export function stepNumber(id: string): number {
  return Number(id.slice(id.lastIndexOf("/") + 1)) || 0;
}
