// The first requests, sent while the page is still loading: a small script that the browser runs after reading the head
// of the document. The first caller of the same request gets the response. It must not import anything large:
// vite.config.ts lists its content.

import { FOLLOW_ACTIVE, parseRoute, type View } from "./address";
import { KEY_HEADERS } from "./api/key";
import type { Frame } from "./api/types";
import { newestChunks } from "./messages/chunks";
import { loadView } from "./views";

const ROOT = "/control/v1";
/** The number of chat rows that fill a screen, and some beyond it. */
export const ROWS_IN_SIGHT = 14;
/** Unclaimed responses are dropped after this time. */
const KEPT_FOR = 10_000;

const answers = new Map<string, Promise<Response>>();

function ask(path: string): Promise<Response> {
  const answer = fetch(path, { headers: KEY_HEADERS });
  answers.set(path, answer);
  setTimeout(() => answers.delete(path), KEPT_FOR);
  // The caller that takes the response handles its error.
  answer.catch(() => undefined);
  return answer;
}

/** The response to an earlier request for the same. */
export function asked({ method, url }: Pick<Request, "method" | "url">): Promise<Response> | null {
  const { pathname, search } = new URL(url);
  const answer = answers.get(pathname + search);
  if (method !== "GET" || answer === undefined) return null;
  answers.delete(pathname + search);
  return answer;
}

/**
 * After a change, earlier responses are outdated. One that was never taken would otherwise be given to the next caller.
 */
export function forget(): void {
  answers.clear();
}

/** The queries of each view besides the frames. */
const MORE: Record<View, readonly string[]> = {
  frames: [],
  chat: ["history?brief=true"],
  map: ["map", "timeline?limit=400&brief=true"],
  history: ["history?all=true&brief=true", "timeline?limit=400&brief=true"],
};

async function begin(): Promise<void> {
  const { conversation, view, open, at } = parseRoute(window.location.hash);
  const all = ask(`${ROOT}/conversations`);
  loadView(view);
  const id = conversation === FOLLOW_ACTIVE ? await active(all) : conversation;
  if (id === null) return;
  const base = `${ROOT}/conversations/${encodeURIComponent(id)}/`;
  const frames = ask(`${base}frames?steps=true${at === null ? "" : `&at=${encodeURIComponent(at)}`}`);
  for (const more of MORE[view]) ask(base + more);
  // The chat begins at its end.
  if (view !== "chat" || open !== null || at !== null) return;
  const list = await read<{ frames: Frame[] }>(frames);
  for (const chunk of newestChunks(list.frames, ROWS_IN_SIGHT)) ask(`${base}frames/${encodeURIComponent(chunk)}`);
}

async function active(all: Promise<Response>): Promise<string | null> {
  const { conversations } = await read<{ conversations: { id: string; active: boolean }[] }>(all);
  return conversations.find((one) => one.active)?.id ?? null;
}

async function read<Answer>(answer: Promise<Response>): Promise<Answer> {
  return (await (await answer).clone().json()) as Answer;
}

// On an error, the page itself asks again and reports it.
void begin().catch(() => undefined);
