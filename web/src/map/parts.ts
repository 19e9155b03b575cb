// The context by kind, with the places of each.

import type { Frame, Frames, Schemas } from "../api";

export type ContextMap = Schemas["ContextMap"];

export interface Place {
  /** The item that a click opens. */
  id: string;
  title: string;
  tokens: number;
}

export interface Part {
  kind: string;
  /** Of results: the tool. */
  tool: string | null;
  tokens: number;
  /** The largest first. */
  places: Place[];
}

/**
 * The largest first. Definitions and calls of all tools are one part each; results are one for each tool, and where a
 * frame has several, each step is a place of its own: a frame of a hundred calls is not one tile.
 */
export function partsOf({ kinds }: Pick<ContextMap, "kinds">, { frames }: Pick<Frames, "frames">): Part[] {
  const byId = new Map(frames.map((frame) => [frame.id, frame]));
  const parts = new Map<string, Part>();
  for (const { kind, tool, tokens, frames: shares } of kinds) {
    const own = kind === "results" ? tool : null;
    const key = `${kind} ${own ?? ""}`;
    const part = parts.get(key) ?? { kind, tool: own, tokens: 0, places: [] };
    part.tokens += tokens;
    for (const share of shares) {
      const frame = byId.get(share.id);
      if (kind === "tools" && tool !== null) add(part, { id: `tools/${tool}`, title: tool, tokens: share.tokens });
      else if (kind === "results" && tool !== null) for (const step of inSteps(share, tool, frame)) add(part, step);
      else add(part, { id: share.id, title: frame?.title ?? "", tokens: share.tokens });
    }
    parts.set(key, part);
  }
  const list = [...parts.values()].filter(({ tokens }) => tokens > 0);
  for (const part of list) part.places.sort((left, right) => right.tokens - left.tokens);
  return list.sort((left, right) => right.tokens - left.tokens);
}

function add({ places }: Part, place: Place): void {
  const known = places.find(({ id }) => id === place.id);
  if (known === undefined) places.push(place);
  else known.tokens += place.tokens;
}

/** The results of a tool in a frame, shared out among the steps that call it. */
function inSteps(share: { id: string; tokens: number }, tool: string, frame: Frame | undefined): Place[] {
  const steps = (frame?.step_list ?? []).filter(({ tools, tokens }) => tools.includes(tool) && tokens > 0);
  const whole = steps.reduce((sum, { tokens }) => sum + tokens, 0);
  if (whole === 0) return [{ id: share.id, title: frame?.title ?? "", tokens: share.tokens }];
  return steps.map(({ id, title, tokens }) => ({ id, title, tokens: (share.tokens * tokens) / whole }));
}

const NAMES: Record<string, string> = {
  system: "System prompt",
  tools: "Tool definitions",
  user: "User",
  assistant: "Assistant",
  thinking: "Thinking",
  calls: "Tool calls",
  results: "Results",
  reminders: "Reminders",
  images: "Images",
  edits: "Text of edits",
  other: "Other",
};

export function partName({ kind, tool }: Pick<Part, "kind" | "tool">): string {
  return tool === null ? (NAMES[kind] ?? kind) : `${tool} results`;
}
