// Selection by rule: size, age, tool, superseded reads.

import type { Frame, Frames, Step } from "../api";

function turns({ frames }: Frames): Frame[] {
  return frames.filter(({ kind, state }) => kind === "turn" && !state.includes("deleted"));
}

function steps(frames: Frames): Step[] {
  return turns(frames)
    .flatMap(({ step_list }) => step_list ?? [])
    .filter(({ state }) => !state.includes("deleted"));
}

/** Larger steps; a frame without steps counts as one. */
export function largerThan(frames: Frames, tokens: number): string[] {
  return turns(frames).flatMap((frame) =>
    (frame.step_list?.length ?? 0) === 0
      ? frame.tokens > tokens
        ? [frame.id]
        : []
      : (frame.step_list ?? [])
          .filter((step) => step.tokens > tokens && !step.state.includes("deleted"))
          .map(({ id }) => id),
  );
}

/** Frames older than this many. */
export function olderThan(frames: Frames, count: number): string[] {
  const all = turns(frames).map(({ id }) => id);
  return all.slice(0, Math.max(0, all.length - count));
}

export function byTool(frames: Frames, tool: string): string[] {
  return steps(frames)
    .filter(({ tools }) => tools.includes(tool))
    .map(({ id }) => id);
}

/** The tools that were called, the heaviest first. */
export function toolsOf(frames: Frames): { tool: string; steps: number; tokens: number }[] {
  const found = new Map<string, { tool: string; steps: number; tokens: number }>();
  for (const { tools, tokens } of steps(frames)) {
    for (const tool of new Set(tools)) {
      const entry = found.get(tool) ?? { tool, steps: 0, tokens: 0 };
      found.set(tool, { tool, steps: entry.steps + 1, tokens: entry.tokens + tokens });
    }
  }
  return [...found.values()].sort((a, b) => b.tokens - a.tokens);
}

/** Steps with only superseded results, according to the engine. */
export function superseded(frames: Frames): string[] {
  return steps(frames)
    .filter(({ superseded_results = [], tools }) => superseded_results.length > 0 && superseded_results.length >= tools.length)
    .map(({ id }) => id);
}
