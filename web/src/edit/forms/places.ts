// Places in a conversation, for forms that insert or move content.

import type { Frames, Where } from "../../api";
import { frameOf } from "../targets";

export interface Place {
  /** For a select. */
  value: string;
  to: Where;
  /** The frame behind which it is; nothing for the start. */
  after: { id: string; title: string } | null;
  /** The target is there already. */
  here: boolean;
}

/** All places except behind the moved frames. */
export function placesOf(frames: Frames, moving: readonly string[] = []): Place[] {
  const still = new Set(moving.map(frameOf));
  const turns = frames.frames.filter(({ kind }) => kind === "turn");
  const first = turns.findIndex(({ id }) => still.has(id));
  const before = first < 0 ? undefined : first === 0 ? null : turns[first - 1]?.id;
  // Separated frames never count as already there.
  const together = turns.slice(first, first + still.size).every(({ id }) => still.has(id));
  const start: Place = { value: "start", to: { start: true }, after: null, here: together && before === null };
  return [
    start,
    ...turns
      .filter(({ id }) => !still.has(id))
      .map(({ id, title }) => ({
        value: `after ${id}`,
        to: { after: id },
        after: { id, title },
        here: together && before === id,
      })),
  ];
}

export function sameWhere(a: Where | undefined, b: Where): boolean {
  return a !== undefined && (a.after ?? null) === (b.after ?? null) && (a.start ?? false) === (b.start ?? false);
}
