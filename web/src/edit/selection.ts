// Which frames and steps are chosen, of each conversation: the rows of the workbench, and whatever else shows them.

import { useSyncExternalStore } from "react";

import { stayWith } from "../route";

const NOTHING: readonly string[] = [];
const chosen = new Map<string, readonly string[]>();
const listeners = new Set<() => void>();

export function selectionOf(conversation: string): readonly string[] {
  return chosen.get(conversation) ?? NOTHING;
}

export function select(conversation: string, ids: readonly string[]): void {
  if (ids.length === 0) chosen.delete(conversation);
  else {
    chosen.set(conversation, ids);
    stayWith(conversation);
  }
  for (const listener of listeners) listener();
}

export function useSelection(conversation: string): readonly string[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => selectionOf(conversation),
  );
}
