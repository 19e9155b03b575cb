// Short notices about actions anywhere on the page. They disappear by themselves, except errors.

import { useSyncExternalStore } from "react";

import type { Remark } from "./remarks";
import { inWords } from "./words";

export interface Toast {
  id: number;
  kind: "done" | "problem";
  text: string;
  hint: string | null;
  /** Further remarks about an edit. */
  remarks: readonly Remark[];
  action: { label: string; run: () => void } | null;
  /** The action takes back this commit, which works as long as it is the newest. */
  about: Made | null;
}

export interface Made {
  conversation: string;
  commit: string | null;
}

const STAYS_FOR = 6000;
/** Longer for every remark: it has to be read. */
const REMARK_STAYS_FOR = 4000;
const AT_MOST = 4;

let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

/** Reports an action, with a button to undo it. Warnings stay until the user closes them. */
export function tell(
  text: string,
  action: Toast["action"] = null,
  about: Made | null = null,
  remarks: readonly Remark[] = [],
): void {
  if (about !== null) settle(about.conversation);
  add({ kind: "done", text, hint: null, remarks, action, about });
}

/** A new commit or undo removes offers to undo an older commit. */
export function settle(conversation: string, newest: string | null = null): void {
  const isOld = ({ about }: Toast) => about?.conversation === conversation && (newest === null || about.commit !== newest);
  if (toasts.some(isOld)) set(toasts.filter((toast) => !isOld(toast)));
}

/** Reports a failure. It stays until the user closes it. */
export function complain(error: unknown, action: Toast["action"] = null): void {
  const { message, hint } = inWords(error instanceof Error ? error : new Error(String(error)));
  add({ kind: "problem", text: message, hint, remarks: [], action, about: null });
}

export function dismiss(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

export function current(): readonly Toast[] {
  return toasts;
}

export function useToasts(): readonly Toast[] {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, current);
}

function add(toast: Omit<Toast, "id">): void {
  last += 1;
  const id = last;
  // Two notices with the same text are one.
  set([...toasts.filter(({ text }) => text !== toast.text), { ...toast, id }].slice(-AT_MOST));
  const { kind, remarks } = toast;
  if (kind === "problem" || remarks.some(({ isWarning }) => isWarning)) return;
  setTimeout(() => dismiss(id), STAYS_FOR + remarks.length * REMARK_STAYS_FOR);
}

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}
