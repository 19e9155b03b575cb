// The usage of the window, and clearing by hand.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { clearNow, getContext } from "../api";
import { useOperate } from "../edit/useOperate";
import { committing } from "../head";
import { isHeard } from "../live";
import { remarksOf } from "../notices/remarks";
import { complain, tell } from "../notices/toasts";
import { CONTEXT_AFTER, contextKey, refreshed } from "../queries";

export function useContextFill(conversation: string, enabled: boolean) {
  const queries = useQueryClient();
  const queryKey = contextKey(conversation);
  return useQuery({
    queryKey,
    enabled,
    queryFn: async () => {
      // The view's own queries come first.
      if (queries.getQueryData(queryKey) === undefined) await new Promise((done) => setTimeout(done, CONTEXT_AFTER));
      return getContext(conversation);
    },
  });
}

/** Clears everything clearable. Returns whether anything changed. */
export function useClear(conversation: string): (reason: string | null) => Promise<boolean> {
  const queries = useQueryClient();
  const { undo } = useOperate(conversation);
  return useCallback(
    async (reason: string | null) => {
      try {
        const call = () => clearNow(conversation, reason);
        const cleared = await committing(queries, conversation, call, (made) => made.commit);
        const { commit, summary } = cleared;
        if (!isHeard(commit)) void refreshed(queries, [conversation]);
        const about = { conversation, commit };
        tell(`Cleared: ${summary}`, { label: "Undo", run: () => void undo(commit) }, about, remarksOf(cleared));
        return true;
      } catch (error) {
        complain(error);
        return false;
      }
    },
    [conversation, queries, undo],
  );
}
