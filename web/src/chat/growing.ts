// Replies that are being written: what the daemon tells of them while they stream, kept until the real message comes.

import { useSyncExternalStore } from "react";

export interface GrowingPart {
  kind: "text" | "thinking" | "tool";
  text: string;
}

export interface Growing {
  request: number;
  parts: readonly GrowingPart[];
}

const replies = new Map<string, Growing>();
const listeners = new Set<() => void>();

/** A reply grew. */
export function grow(conversation: string, request: number, kind: GrowingPart["kind"], text: string): void {
  const before = replies.get(conversation);
  const parts = before?.request === request ? before.parts : [];
  const last = parts.at(-1);
  const grown =
    last?.kind === kind
      ? [...parts.slice(0, -1), { kind, text: last.text + text }]
      : [...parts, { kind, text }];
  replies.set(conversation, { request, parts: grown });
  tell();
}

/** The reply is there, or will not come. */
export function grown(conversation: string, request?: number): void {
  const reply = replies.get(conversation);
  if (reply === undefined || (request !== undefined && reply.request > request)) return;
  replies.delete(conversation);
  tell();
}

export function growingOf(conversation: string): Growing | null {
  return replies.get(conversation) ?? null;
}

export function useGrowing(conversation: string): Growing | null {
  return useSyncExternalStore(subscribe, () => growingOf(conversation));
}

function tell(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
