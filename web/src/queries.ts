// The page's queries of the daemon, and the keys of their cached results.

import { keepPreviousData, type QueryClient, useQuery } from "@tanstack/react-query";

import { FOLLOW_ACTIVE, parseRoute, type Route } from "./address";
import {
  type Frames,
  getConversations,
  getDiff,
  getExplanation,
  getFrame,
  getFrames,
  getHelper,
  getHistory,
  getStatus,
  getTimeline,
} from "./api";
import { forget, ROWS_IN_SIGHT } from "./first";
import { withSteps } from "./frames/rows";
import { showsSteps } from "./frames/useUnfolded";
import { newestChunks } from "./messages/chunks";
import { LAST, turnOf } from "./turns";

/** The length of the fetched timeline. */
const TIMELINE_LIMIT = 400;

export const keys = {
  status: ["status"] as const,
  conversations: ["conversations"] as const,
  helper: ["helper"] as const,
  /** Everything of one conversation: its frames, their messages, its history, its timeline. */
  conversation: (id: string) => ["conversation", id] as const,
};

export const framesKey = (conversation: string, at: string | null = null) =>
  [...keys.conversation(conversation), "frames", at] as const;

export const frameKey = (conversation: string, id: string, at: string | null = null) =>
  [...keys.conversation(conversation), "frame", id, at] as const;

/** Refetches the visible data of changed conversations. */
export async function refreshed(queries: QueryClient, conversations: readonly string[]): Promise<void> {
  forget();
  const { view, open, at } = parseRoute(window.location.hash);
  // If no view shows steps, the frames are fetched without them first.
  const isQuick = (id: string) => view === "frames" && at === null && !showsSteps(id, open);
  const ask = (turn: number) =>
    conversations.map((id) =>
      queries.invalidateQueries({
        queryKey: keys.conversation(id),
        predicate: ({ queryKey: [, , what] }) =>
          what !== CONTEXT && (what === "frames" && isQuick(id) ? LAST : turnOf(view, what)) === turn,
      }),
    );
  for (const id of conversations) askContextSoon(queries, id);
  await Promise.all([...ask(0), ...conversations.filter(isQuick).map((id) => quickFrames(queries, id))]);
  await Promise.all(ask(1));
  await Promise.all([
    ...ask(LAST),
    queries.invalidateQueries({ queryKey: keys.conversations }),
    queries.invalidateQueries({ queryKey: keys.status }),
  ]);
}

/** The daemon inspects every result for it, so it must not delay visible data. */
const CONTEXT = "context";
export const CONTEXT_AFTER = 400;

export const contextKey = (conversation: string) => [...keys.conversation(conversation), CONTEXT] as const;

const soon = new Set<string>();

/** Not delayed by further events, so that it is fetched while an agent works. */
function askContextSoon(queries: QueryClient, id: string): void {
  if (soon.has(id)) return;
  soon.add(id);
  setTimeout(() => {
    soon.delete(id);
    void queries.invalidateQueries({ queryKey: contextKey(id) });
  }, CONTEXT_AFTER);
}

/** The frames with their previous steps; new ones are fetched later. */
async function quickFrames(queries: QueryClient, id: string): Promise<void> {
  const queryKey = framesKey(id);
  // Skips a query that is unused, or whose first response is pending.
  if (queries.getQueryCache().find({ queryKey })?.isActive() !== true || queries.getQueryData(queryKey) === undefined) return;
  try {
    const frames = await getFrames(id, null, false);
    // A pending earlier query may return older data.
    await queries.cancelQueries({ queryKey, exact: true });
    queries.setQueryData<Frames>(queryKey, (before) => (before === undefined ? before : withSteps(frames, before)));
  } catch {
    // The complete query, which follows, reports the error.
  }
}

/** Refetches everything that may have changed before the event stream opened; first the visible data. */
export async function askAgain(queries: QueryClient): Promise<void> {
  forget();
  const isLast = (what: unknown) => turnOf("frames", what) === LAST;
  await queries.invalidateQueries({
    predicate: ({ queryKey: [kind, , what] }) => kind === "conversations" || (kind === "conversation" && !isLast(what)),
  });
  await queries.invalidateQueries({
    predicate: ({ queryKey: [kind, , what] }) => kind === "conversation" && isLast(what),
  });
}

/**
 * The first queries run before anything is drawn (most of them by first.ts already), so that drawing never reveals
 * missing data. The component that draws a result handles its error.
 */
export async function askFirst(queries: QueryClient, { conversation, view, open, at }: Route): Promise<void> {
  const all = queries.fetchQuery({ queryKey: keys.conversations, queryFn: getConversations });
  const id = conversation === FOLLOW_ACTIVE ? (await all).find((one) => one.active)?.id : conversation;
  if (id === undefined) return;
  const { frames } = await queries.fetchQuery({ queryKey: framesKey(id, at), queryFn: () => getFrames(id, at) });
  await all;
  if (view !== "chat" || open !== null || at !== null) return;
  await Promise.all(
    newestChunks(frames, ROWS_IN_SIGHT).map((chunk) =>
      queries.prefetchQuery({ queryKey: frameKey(id, chunk), queryFn: () => getFrame(id, chunk) }),
    ),
  );
}

export function useStatus() {
  // Memory and the recorder's queue change without any event.
  return useQuery({ queryKey: keys.status, queryFn: getStatus, refetchInterval: 5000 });
}

export function useConversations() {
  return useQuery({ queryKey: keys.conversations, queryFn: getConversations });
}

/** The frames as they are sent now, or as they were at a point of the history. */
export function useFrames(conversation: string, at: string | null = null) {
  return useQuery({
    queryKey: framesKey(conversation, at),
    queryFn: () => getFrames(conversation, at),
  });
}

/** The content of a frame, step or part. Not `enabled`: only what is known already. */
export function useFrame(conversation: string, id: string, at: string | null = null, enabled = true) {
  return useQuery({
    enabled,
    queryKey: frameKey(conversation, id, at),
    queryFn: () => getFrame(conversation, id, at),
    placeholderData: keepPreviousData,
  });
}

export function useHistory(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "history"],
    queryFn: () => getHistory(conversation),
  });
}

export function useDiff(conversation: string, from: string, to: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "diff", from, to],
    queryFn: () => getDiff(conversation, from, to),
  });
}

export function useExplanation(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "explanation"],
    queryFn: () => getExplanation(conversation),
  });
}

export function useTimeline(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "timeline"],
    queryFn: () => getTimeline(conversation, TIMELINE_LIMIT),
  });
}

/** The helper that writes summaries and titles, if any. */
export function useHelper() {
  return useQuery({ queryKey: keys.helper, queryFn: getHelper });
}
