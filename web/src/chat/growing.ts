// Replies in progress: the streamed pieces, kept until the complete message arrives.

import { useSyncExternalStore } from "react";

export interface GrowingPart {
  /** Counts the blocks of the reply. */
  block: number;
  part: "text" | "thinking" | "tool";
  tool: string | null;
  text: string;
}

export interface Growing {
  request: number;
  parts: readonly GrowingPart[];
  /** A piece is missing: one came late, or the reader was too slow. */
  gaps: boolean;
  /** The time of the last piece; the message itself follows. */
  ended: number | null;
  /** The number of the next piece. */
  next: number;
}

/** A piece of a reply, as streamed. */
export interface StreamingEvent extends GrowingPart {
  kind: "streaming";
  conversation: string;
  request: number;
  piece: number;
}

const replies = new Map<string, Growing>();
const listeners = new Set<() => void>();

/** Receives the daemon's events; ignores all but those about replies. */
export function hear(event: { kind?: string }): void {
  if (isStreaming(event)) grow(event);
  else if (event.kind === "answer" && "conversation" in event && "request" in event) {
    end(String(event.conversation), Number(event.request));
  }
}

function grow({ conversation, request, piece, block, part, tool, text }: StreamingEvent): void {
  const known = replies.get(conversation);
  if (known !== undefined && known.request > request) return;
  const before: Growing =
    known?.request === request ? known : { request, parts: [], gaps: false, ended: null, next: 0 };
  const last = before.parts.at(-1);
  const parts =
    last !== undefined && last.block === block
      ? [...before.parts.slice(0, -1), { ...last, text: last.text + text }]
      : [...before.parts, { block, part, tool, text }];
  replies.set(conversation, { ...before, parts, gaps: before.gaps || piece !== before.next, next: piece + 1 });
  tell();
}

function end(conversation: string, request: number): void {
  const reply = replies.get(conversation);
  if (reply === undefined || reply.request > request) return;
  replies.set(conversation, { ...reply, ended: Date.now() });
  tell();
}

/** The message itself is there. */
export function forget(conversation: string): void {
  if (replies.delete(conversation)) tell();
}

export function growingOf(conversation: string): Growing | null {
  return replies.get(conversation) ?? null;
}

export function useGrowing(conversation: string): Growing | null {
  return useSyncExternalStore(subscribe, () => growingOf(conversation));
}

function isStreaming(event: { kind?: string }): event is StreamingEvent {
  return event.kind === "streaming";
}

function tell(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
