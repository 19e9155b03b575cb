// The selected frames and steps of each conversation, shared by all views.

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
