// Aligns two lists of frames, sent and original. Most are at the same place; some were moved, added or split.

import type { Frame } from "../api";

export interface Pair {
  sent: Frame | null;
  source: Frame | null;
  /** Steps of the source frame that other parts of it have before this one. */
  offset: number;
}

/** The source frame that a frame comes from: the parts of a split frame come from the whole. */
export function origin(id: string): string {
  return id.split(".", 1)[0] ?? id;
}

/** Both lists in one order: pairs where the order is the same, single frames where it is not. */
export function align(sent: readonly Frame[], source: readonly Frame[]): Pair[] {
  const places = new Map(source.map(({ id }, index) => [id, index]));
  const steps = offsets(sent);
  const wanted = sent.map(({ id }) => places.get(origin(id)) ?? -1);
  const kept = ascending(wanted);

  const pairs: Pair[] = [];
  let next = 0;
  const catchUp = (end: number) => {
    for (; next < end; next += 1) pairs.push({ sent: null, source: source[next] ?? null, offset: 0 });
  };
  sent.forEach((frame, index) => {
    const place = wanted[index] ?? -1;
    if (!kept.has(index)) {
      pairs.push({ sent: frame, source: null, offset: 0 });
      return;
    }
    catchUp(place);
    pairs.push({ sent: frame, source: source[place] ?? null, offset: steps.get(frame.id) ?? 0 });
    next = Math.max(next, place + 1);
  });
  catchUp(source.length);
  return pairs;
}

/** The first step of each part, counted in the whole frame. */
function offsets(sent: readonly Frame[]): Map<string, number> {
  const parts = sent.filter(({ id }) => id.includes("."));
  parts.sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
  const begun = new Map<string, number>();
  const found = new Map<string, number>();
  for (const { id, steps } of parts) {
    const before = begun.get(origin(id)) ?? 0;
    found.set(id, before);
    begun.set(origin(id), before + steps);
  }
  return found;
}

/** The positions of a longest run of values that never goes back; negative values are left out. */
export function ascending(values: readonly number[]): Set<number> {
  /** For each length the position where the best run of it ends. */
  const ends: number[] = [];
  const before: number[] = [];
  values.forEach((value, position) => {
    if (value < 0) return;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((values[ends[middle] ?? 0] ?? 0) <= value) low = middle + 1;
      else high = middle;
    }
    before[position] = low > 0 ? (ends[low - 1] ?? -1) : -1;
    ends[low] = position;
  });
  const found = new Set<number>();
  for (let position = ends.at(-1) ?? -1; position >= 0; position = before[position] ?? -1) found.add(position);
  return found;
}
