// How full the context is: asked for, and cleared by hand.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { clearNow, getContext } from "../api";
import { useOperate } from "../edit/useOperate";
import { isHeard } from "../live";
import { complain, tell } from "../notices/toasts";
import { keys, refreshed } from "../queries";

export const contextKey = (conversation: string) => [...keys.conversation(conversation), "context"] as const;

export function useContextFill(conversation: string, enabled: boolean) {
  return useQuery({ queryKey: contextKey(conversation), queryFn: () => getContext(conversation), enabled });
}

/** Clears all that may go. Says whether anything was done. */
export function useClear(conversation: string): (reason: string | null) => Promise<boolean> {
  const queries = useQueryClient();
  const { undo } = useOperate(conversation);
  return useCallback(
    async (reason: string | null) => {
      try {
        const { commit, summary } = await clearNow(conversation, reason);
        if (!isHeard(commit)) void refreshed(queries, [conversation]);
        tell(`Cleared: ${summary}`, { label: "Undo", run: () => void undo(commit) });
        return true;
      } catch (error) {
        complain(error);
        return false;
      }
    },
    [conversation, queries, undo],
  );
}
