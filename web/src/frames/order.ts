// Places between frames, for dragging and for the keys that move.

import type { Frames, Where } from "../api";

function turnsOf({ frames }: Frames): string[] {
  return frames.filter(({ kind }) => kind === "turn").map(({ id }) => id);
}

/** The place of frames dropped before or behind another one; nothing if they are there already. */
export function dropPlace(frames: Frames, moving: readonly string[], over: string, behind: boolean): Where | null {
  const turns = turnsOf(frames);
  if (!turns.includes(over)) return over === "system" || over === "tools" ? startUnlessThere(turns, moving) : null;
  const still = turns.filter((id) => !moving.includes(id));
  const at = turns.indexOf(over) + (behind ? 1 : 0);
  const before = turns
    .slice(0, at)
    .filter((id) => still.includes(id))
    .at(-1);
  const arranged = [
    ...turns.slice(0, at).filter((id) => still.includes(id)),
    ...moving,
    ...turns.slice(at).filter((id) => still.includes(id)),
  ];
  if (arranged.join() === turns.join()) return null;
  return before === undefined ? { start: true } : { after: before };
}

function startUnlessThere(turns: readonly string[], moving: readonly string[]): Where | null {
  return turns.slice(0, moving.length).join() === moving.join() ? null : { start: true };
}

/** One place up or down; nothing at the end, or if the frames are not adjacent. */
export function neighbour(frames: Frames, moving: readonly string[], by: -1 | 1): Where | null {
  const turns = turnsOf(frames);
  const first = turns.indexOf(moving[0] ?? "");
  if (first < 0 || turns.slice(first, first + moving.length).join() !== moving.join()) return null;
  if (by === 1) {
    const next = turns[first + moving.length];
    return next === undefined ? null : { after: next };
  }
  if (first === 0) return null;
  const before = turns[first - 2];
  return before === undefined ? { start: true } : { after: before };
}
