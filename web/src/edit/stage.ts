// The staged operations of each conversation, and the open form. Kept in the session's storage, so that a reload loses
// nothing and two tabs do not share it.

import { useSyncExternalStore } from "react";

import type { Operation, When } from "../api";
import { stayWith } from "../route";
import type { Draft, Values } from "./draft";

export interface Stage {
  operations: readonly Operation[];
  /** The head on the screen when the first operation was staged; "none" before the first commit. */
  head: string | null;
  draft: Draft | null;
  /** The condition of the staged operations. */
  when?: When;
}

const EMPTY: Stage = { operations: [], head: null, draft: null };
const PREFIX = "ctx.stage.";

const stages = new Map<string, Stage>();
const listeners = new Set<() => void>();

export function stageOf(conversation: string): Stage {
  let stage = stages.get(conversation);
  if (stage === undefined) {
    stage = read(conversation);
    stages.set(conversation, stage);
  }
  return stage;
}

export function useStage(conversation: string): Stage {
  return useSyncExternalStore(subscribe, () => stageOf(conversation));
}

/** Appends operations to the staged ones. */
export function addToStage(conversation: string, operations: readonly Operation[], head: string): void {
  stayWith(conversation);
  const stage = stageOf(conversation);
  write(conversation, {
    ...stage,
    operations: [...stage.operations, ...operations],
    head: stage.operations.length === 0 ? head : stage.head,
  });
}

export function removeFromStage(conversation: string, index: number): void {
  const stage = stageOf(conversation);
  const operations = stage.operations.filter((_, at) => at !== index);
  write(conversation, { ...stage, operations, head: operations.length === 0 ? null : stage.head });
}

export function clearStage(conversation: string): void {
  const { when: _, ...stage } = stageOf(conversation);
  write(conversation, { ...stage, operations: [], head: null });
}

/** The user has reviewed the new commits: the staged operations and the form now expect this head. */
export function rebase(conversation: string, head: string): void {
  const { operations, draft, ...rest } = stageOf(conversation);
  write(conversation, {
    ...rest,
    operations,
    head: operations.length === 0 ? null : head,
    draft: draft === null ? null : { ...draft, head },
  });
}

export function openDraft(conversation: string, draft: Draft): void {
  stayWith(conversation);
  write(conversation, { ...stageOf(conversation), draft });
}

/** `touched`: changed by the user, not only prefilled. */
export function changeDraft(conversation: string, values: Partial<Values>, touched: boolean): void {
  const stage = stageOf(conversation);
  const { draft } = stage;
  if (draft === null) return;
  const next = { ...draft, values: { ...draft.values, ...values }, touched: touched || draft.touched === true };
  write(conversation, { ...stage, draft: next });
}

/** The condition of the form, or of the staged operations. */
export function setWhen(conversation: string, of: "draft" | "stage", when: When): void {
  const stage = stageOf(conversation);
  if (of === "stage") write(conversation, { ...stage, when });
  else if (stage.draft !== null) write(conversation, { ...stage, draft: { ...stage.draft, when } });
}

export function closeDraft(conversation: string): void {
  write(conversation, { ...stageOf(conversation), draft: null });
}

function write(conversation: string, stage: Stage): void {
  stages.set(conversation, stage);
  try {
    if (stage.operations.length === 0 && stage.draft === null) sessionStorage.removeItem(PREFIX + conversation);
    else sessionStorage.setItem(PREFIX + conversation, JSON.stringify(stage));
  } catch {
    // Full or forbidden storage only loses the state on a reload.
  }
  for (const listener of listeners) listener();
}

function read(conversation: string): Stage {
  try {
    const kept = sessionStorage.getItem(PREFIX + conversation);
    return kept === null ? EMPTY : { ...EMPTY, ...(JSON.parse(kept) as Partial<Stage>) };
  } catch {
    return EMPTY;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
