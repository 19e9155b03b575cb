// Selection by click: alone; with Ctrl, one more or one less; with Shift, everything from the last click on.

export interface Chosen {
  ids: readonly string[];
  /** The start of a range. */
  from: string | null;
}

export interface Click {
  ctrl: boolean;
  shift: boolean;
}

/** `order`: the ids in the order of the screen. */
export function choose({ ids, from }: Chosen, id: string, { ctrl, shift }: Click, order: readonly string[]): Chosen {
  if (shift && from !== null && order.includes(from)) {
    const [a, b] = [order.indexOf(from), order.indexOf(id)].sort((x, y) => x - y) as [number, number];
    const range = order.slice(a, b + 1);
    return { ids: sorted(ctrl ? [...ids, ...range] : range, order), from };
  }
  if (ctrl) {
    const next = ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id];
    return { ids: sorted(next, order), from: id };
  }
  return { ids: [id], from: id };
}

/** A frame includes its steps, so the two are not named together. */
export function withoutCovered(ids: readonly string[]): string[] {
  const frames = new Set(ids.filter((id) => !id.includes("/")));
  return ids.filter((id) => !id.includes("/") || id.startsWith("tools/") || !frames.has(id.split("/")[0] ?? ""));
}

function sorted(ids: readonly string[], order: readonly string[]): string[] {
  const places = new Map(order.map((id, index) => [id, index]));
  return [...new Set(ids)].sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
}
