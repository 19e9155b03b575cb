// What the page asks the daemon, and under which key the answer is kept.

import { keepPreviousData, type QueryClient, useQuery } from "@tanstack/react-query";

import {
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
import { FOLLOW_ACTIVE } from "./route";

/** How far back the timeline reaches. */
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

/** What everybody looks at. The rest waits for it: the daemon answers for one conversation at a time. */
const FIRST: readonly unknown[] = ["frames", "history", "timeline"];

/** Asks again for what is on the screen of conversations that changed. */
export async function refreshed(queries: QueryClient, conversations: readonly string[]): Promise<void> {
  const ask = (first: boolean) =>
    conversations.map((id) =>
      queries.invalidateQueries({
        queryKey: keys.conversation(id),
        predicate: ({ queryKey }) => FIRST.includes(queryKey[2]) === first,
      }),
    );
  await Promise.all(ask(true));
  await Promise.all([
    ...ask(false),
    queries.invalidateQueries({ queryKey: keys.conversations }),
    queries.invalidateQueries({ queryKey: keys.status }),
  ]);
}

/** The first questions are asked before anything is drawn: nobody waits for a drawing to find out what it lacks. */
export async function askFirst(queries: QueryClient, conversation: string): Promise<void> {
  const frames = (id: string) =>
    queries.prefetchQuery({ queryKey: framesKey(id), queryFn: () => getFrames(id) });
  const all = queries.fetchQuery({ queryKey: keys.conversations, queryFn: getConversations });
  if (conversation !== FOLLOW_ACTIVE) return frames(conversation);
  // What goes wrong is told by whoever draws it.
  const active = (await all.catch(() => [])).find((one) => one.active);
  if (active !== undefined) await frames(active.id);
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

/** Who finds words for summaries and titles, if anybody. */
export function useHelper() {
  return useQuery({ queryKey: keys.helper, queryFn: getHelper });
}
