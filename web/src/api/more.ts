// Calls for stale content, deferred edits, frames left behind and sent requests. A 404 counts as "nothing known".

import { ApiError } from "./errors";
import { KEY_HEADERS } from "./key";
import type { Frame, Schemas } from "./types";

const ROOT = "/control/v1";

export type WorthRemoving = Schemas["WorthRemoving"];
export type LeftReason = Schemas["LeftReason"];
export type LeftFrame = Frame & { left: LeftReason };
export type PendingOutcome = Schemas["PendingOutcome"];
export type SentRequest = Schemas["SentView"];

async function asked(path: string, init?: RequestInit): Promise<Response | null> {
  const response = await fetch(`${ROOT}${path}`, { ...init, headers: { ...KEY_HEADERS, ...init?.headers } });
  if (response.status === 404) return null;
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { error?: Partial<ApiError> };
  const { code = `http-${response.status}`, message = response.statusText, hint = null } = body.error ?? {};
  throw new ApiError(response.status, code, message, hint);
}

const of = (conversation: string, rest: string) => `/conversations/${encodeURIComponent(conversation)}/${rest}`;

export async function getWorth(conversation: string): Promise<WorthRemoving | null> {
  const response = await asked(of(conversation, "worth"));
  return response === null ? null : ((await response.json()) as { worth: WorthRemoving | null }).worth;
}

/** Frames that the agent has left behind, before a compaction or by a rewind. */
export async function getLeftFrames(conversation: string): Promise<LeftFrame[]> {
  const response = await asked(of(conversation, "frames?all=true"));
  const { frames } = response === null ? { frames: [] } : ((await response.json()) as { frames: LeftFrame[] });
  return frames.filter(({ left }) => left != null);
}

export async function getSent(conversation: string, request: number): Promise<SentRequest | null> {
  const response = await asked(of(conversation, `requests/r${request}`));
  return response === null ? null : ((await response.json()) as SentRequest);
}

/** The exact body that was sent. */
export async function getSentBody(conversation: string, request: number): Promise<string | null> {
  const response = await asked(of(conversation, `requests/r${request}/body`));
  return response === null ? null : await response.text();
}

export async function answerMany(conversation: string, answer: "accept" | "cancel", ids: string[]): Promise<PendingOutcome | null> {
  const response = await asked(of(conversation, `waiting/${answer}`), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ids, author: "ui" }),
  });
  return response === null ? null : ((await response.json()) as PendingOutcome);
}
