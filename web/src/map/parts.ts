// What the context is made of, by kind, with the places where each kind is found.

import type { Frames } from "../api";

export const KINDS = ["system", "tools", "user", "assistant", "thinking", "calls", "results", "reminders", "images", "other"] as const;
export type PartKind = (typeof KINDS)[number];

export interface Place {
  /** What a click opens. */
  id: string;
  title: string;
  tokens: number;
}

export interface Part {
  kind: PartKind;
  /** Beside the kind's name: the tool. */
  tool: string | null;
  tokens: number;
  places: Place[];
}

/** The largest first; places too. Parts without weight are left out. */
export function partsOf({ frames }: Pick<Frames, "frames">): Part[] {
  const parts = new Map<string, Part>();
  const add = (kind: PartKind, tool: string | null, place: Place) => {
    if (place.tokens <= 0) return;
    const key = `${kind} ${tool ?? ""}`;
    const part = parts.get(key) ?? { kind, tool, tokens: 0, places: [] };
    part.tokens += place.tokens;
    part.places.push(place);
    parts.set(key, part);
  };
  for (const { id, kind, title, tokens, step_list } of frames) {
    if (kind !== "turn") {
      add(kind, null, { id, title, tokens });
      continue;
    }
    const steps = step_list ?? [];
    for (const step of steps) {
      const called = step.tools.length > 0;
      add(called ? "results" : "assistant", called ? several(step.tools) : null, step);
    }
    // What no step weighs is what the user said.
    const said = tokens - steps.reduce((sum, step) => sum + step.tokens, 0);
    add("user", null, { id, title, tokens: said });
  }
  return sorted([...parts.values()]);
}

function several(tools: string[]): string {
  const [first = "", ...others] = [...new Set(tools)];
  return others.length === 0 ? first : "several tools";
}

export function sorted(parts: Part[]): Part[] {
  for (const part of parts) part.places.sort((left, right) => right.tokens - left.tokens);
  return parts.sort((left, right) => right.tokens - left.tokens);
}

const NAMES: Record<PartKind, string> = {
  system: "System prompt",
  tools: "Tool definitions",
  user: "User",
  assistant: "Assistant",
  thinking: "Thinking",
  calls: "Tool calls",
  results: "Results",
  reminders: "Reminders",
  images: "Images",
  other: "Other",
};

export function partName({ kind, tool }: Pick<Part, "kind" | "tool">): string {
  if (tool === null) return NAMES[kind];
  return kind === "tools" ? tool : kind === "calls" ? `${tool} calls` : `${tool} results`;
}
