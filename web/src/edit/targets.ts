// Resolves ids: `t3`, `t3/5`, `t3#2`, `t3#2.1`, `system`, `tools/Bash`.

import type { Frame, Frames, Step } from "../api";

export type Scope = "system" | "tools" | "frame" | "step" | "message" | "block" | "tool";

export interface Target {
  id: string;
  scope: Scope;
  /** The frame it is, or is in. */
  frame: string;
  title: string;
  tokens: number;
  state: readonly string[];
  pinned: boolean;
  /** It calls tools, according to the list of frames. */
  calls: boolean;
}

export function scopeOf(id: string): Scope {
  if (id === "system" || id === "tools") return id;
  if (id.startsWith("tools/")) return "tool";
  if (id.includes("/")) return "step";
  const part = id.split("#")[1];
  if (part === undefined) return "frame";
  return part.includes(".") && !id.startsWith("system#") ? "block" : "message";
}

/** `t3/5..9` → `t3`. */
export function frameOf(id: string): string {
  return id.split(/[/#]/)[0] ?? id;
}

/** Looks ids up in the frames; omits unknown ones. */
export function targetsOf(ids: readonly string[], frames: Frames): Target[] {
  const byId = new Map(frames.frames.map((frame) => [frame.id, frame]));
  return ids.flatMap((id) => {
    const frame = byId.get(frameOf(id));
    return frame === undefined ? [] : [targetOf(id, frame)];
  });
}

function targetOf(id: string, frame: Frame): Target {
  const steps = stepsOf(id, frame);
  const scope = scopeOf(id);
  const whole = id === frame.id;
  const title = steps[0]?.title ?? frame.title;
  return {
    id,
    scope,
    frame: frame.id,
    title,
    tokens: whole ? frame.tokens : steps.reduce((sum, { tokens }) => sum + tokens, 0),
    state: scope === "step" ? [...new Set(steps.flatMap(({ state }) => state))] : frame.state,
    pinned: frame.pinned,
    calls: (scope === "step" ? steps : (frame.step_list ?? [])).some(({ tools }) => tools.length > 0),
  };
}

/** The steps that `t3/5` or `t3/5..9` names. */
function stepsOf(id: string, frame: Frame): Step[] {
  const range = /\/(\d+)(?:\.\.(\d+))?$/.exec(id);
  if (range === null || scopeOf(id) !== "step") return [];
  const from = Number(range[1]);
  const to = Number(range[2] ?? range[1]);
  return (frame.step_list ?? []).filter((step) => {
    const number = Number(step.id.split("/")[1]);
    return number >= from && number <= to;
  });
}

/** "t2, t3 and 4 more": for headings. */
export function inShort(ids: readonly string[], most = 4): string {
  if (ids.length <= most) return ids.join(", ");
  return `${ids.slice(0, most - 1).join(", ")} and ${ids.length - most + 1} more`;
}
