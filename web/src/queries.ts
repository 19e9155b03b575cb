// What the page asks the daemon, and under which key the answer is kept.

import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { getConversations, getFrame, getFrames, getStatus, getTimeline } from "./api";

/** How far back the timeline reaches. */
const TIMELINE_LIMIT = 400;

export const keys = {
  status: ["status"] as const,
  conversations: ["conversations"] as const,
  /** Everything of one conversation: its frames, their messages, its timeline. */
  conversation: (id: string) => ["conversation", id] as const,
};

export function useStatus() {
  // Memory and the recorder's queue change without any event.
  return useQuery({ queryKey: keys.status, queryFn: getStatus, refetchInterval: 5000 });
}

export function useConversations() {
  return useQuery({ queryKey: keys.conversations, queryFn: getConversations });
}

export function useFrames(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "frames"],
    queryFn: () => getFrames(conversation),
  });
}

export function useFrame(conversation: string, id: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "frame", id],
    queryFn: () => getFrame(conversation, id),
    placeholderData: keepPreviousData,
  });
}

export function useTimeline(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "timeline"],
    queryFn: () => getTimeline(conversation, TIMELINE_LIMIT),
  });
}
