// Whether the palette is open, and its query, so that any button can open it.

import { useSyncExternalStore } from "react";

import { isText } from "./keys";

/** The words in it; nothing while it is closed. */
let asked: string | null = null;
const listeners = new Set<() => void>();

export function openPalette(query = ""): void {
  set(query);
}

export function closePalette(): void {
  set(null);
}

/** The mark of its field. */
export const FIELD = { "data-palette": "" };

/** Keys typed before the field has the focus belong to the field, not to the page behind it. */
function typedEarly(event: KeyboardEvent): void {
  if (event.isComposing || (event.target instanceof Element && event.target.closest("[data-palette]") !== null)) return;
  if (event.key === "Escape") closePalette();
  else if (isText(event)) set(withKey(asked ?? "", event.key));
  else if (event.key !== "Enter") return;
  event.preventDefault();
  event.stopPropagation();
}

export function withKey(words: string, key: string): string {
  if (key === "Backspace") return [...words].slice(0, -1).join("");
  return key === "Delete" ? words : words + key;
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
  if (asked === null && next !== null) window.addEventListener("keydown", typedEarly, true);
  if (next === null) window.removeEventListener("keydown", typedEarly, true);
  asked = next;
  for (const listener of listeners) listener();
}
