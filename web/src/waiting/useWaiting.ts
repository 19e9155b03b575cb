// Changes that wait for their moment: asked for, and taken back.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { cancelWish, getWaiting } from "../api";
import { complain, tell } from "../notices/toasts";
import { keys } from "../queries";

const keyOf = (conversation: string) => [...keys.conversation(conversation), "waiting"] as const;

export function useWaiting(conversation: string) {
  return useQuery({ queryKey: keyOf(conversation), queryFn: () => getWaiting(conversation) });
}

/** Takes back one that waits, or puts away one that could not be made. */
export function useCancel(conversation: string): (wish: string) => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    async (wish: string) => {
      try {
        const { summary } = await cancelWish(conversation, wish);
        tell(`Cancelled: ${summary}`);
      } catch (error) {
        complain(error);
      }
      await queries.invalidateQueries({ queryKey: keyOf(conversation) });
    },
    [conversation, queries],
  );
}
