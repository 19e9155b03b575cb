// Finds content that is probably worth removing. Suggestions only: each is an operation that can be staged.

import type { Frames, Operation, Step } from "../api";
import type { Place } from "./parts";

export interface Suggestion {
  key: string;
  title: string;
  /** The reason why it is probably not needed. */
  why: string;
  /** About so many tokens would be saved in each request. */
  tokens: number;
  /** The place to look at first. */
  ids: string[];
  operation: Operation;
}

/** The size, and the share of the whole, from which a result is large. */
const LARGE = 1000;
const LARGE_SHARE = 0.03;
/** The newest steps, which the model works with. */
const RECENT = 2;
const AT_MOST = 6;
/** The rest of a step after its result is dropped: the call and a note. */
const STAYS = 60;

/** A tool's definition. */
type Tool = Pick<Place, "id" | "title" | "tokens">;

export function suggestions({ frames, tokens }: Pick<Frames, "frames" | "tokens">, tools: Tool[] = []): Suggestion[] {
  const steps = frames.flatMap(({ step_list, pinned }) => (step_list ?? []).map((step) => ({ ...step, pinned })));
  const old = steps.slice(0, -RECENT).filter((step) => !step.pinned && step.tools.length > 0 && !gone(step));
  const superseded = old.filter((step) => step.superseded);
  const found: Suggestion[] = [];
  if (superseded.length > 0) {
    const results = superseded.flatMap(({ superseded_results = [] }) => superseded_results);
    found.push({
      key: "superseded",
      title: results.length === 1 ? "1 outdated read" : `${results.length} outdated reads`,
      why: `Files read again or changed later: ${names(superseded)}`,
      tokens: superseded.reduce((total, { superseded_tokens = 0 }) => total + superseded_tokens, 0),
      ids: superseded.map(({ id }) => id),
      operation: { op: "drop-results", ids: results },
    });
  }
  const taken = new Set(superseded.map(({ id }) => id));
  const large = old
    .filter((step) => !taken.has(step.id) && step.tokens >= Math.max(LARGE, tokens * LARGE_SHARE))
    .sort((left, right) => right.tokens - left.tokens)
    .slice(0, AT_MOST);
  for (const step of large) {
    found.push({
      key: `large ${step.id}`,
      title: step.title,
      why: `A large result of the earlier step ${step.id}`,
      tokens: step.tokens - STAYS,
      ids: [step.id],
      operation: { op: "drop-results", ids: [step.id] },
    });
  }
  const unused = unusedTools(steps, tools);
  if (unused.length > 0) {
    const ids = unused.map(({ id }) => id);
    found.push({
      key: "unused tools",
      title: unused.length === 1 ? "1 unused tool" : `${unused.length} unused tools`,
      why: `Sent with every request, but never called: ${names(unused)}`,
      tokens: unused.reduce((total, tool) => total + tool.tokens, 0),
      ids,
      operation: { op: "delete", ids },
    });
  }
  return found.sort((left, right) => right.tokens - left.tokens);
}

const TAKEN_OUT = ["deleted", "results-dropped", "results-summarized", "offloaded", "compacted"];

function gone({ state, tokens }: Step): boolean {
  return tokens <= STAYS || state.some((mark) => TAKEN_OUT.includes(mark));
}

/** Tools that no step calls; none before the model has called any tool. */
function unusedTools(steps: Step[], tools: Tool[]): Tool[] {
  const called = new Set(steps.flatMap((step) => step.tools));
  return called.size === 0 ? [] : tools.filter(({ title, tokens }) => !called.has(title) && tokens > 0);
}

function names(steps: { title: string }[], most = 3): string {
  const all = [...new Set(steps.map(({ title }) => title))];
  return all.length <= most ? all.join(", ") : `${all.slice(0, most).join(", ")} and ${all.length - most} more`;
}
