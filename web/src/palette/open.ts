// Whether the palette is open, so that a button anywhere can open it.

import { useSyncExternalStore } from "react";

/** The words it begins with; nothing while it is closed. */
let asked: string | null = null;
const listeners = new Set<() => void>();

export function openPalette(query = ""): void {
  set(query);
}

export function closePalette(): void {
  set(null);
}

export function usePalette(): string | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => asked,
  );
}

function set(next: string | null): void {
  asked = next;
  for (const listener of listeners) listener();
}
