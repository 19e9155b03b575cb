// Deferred edits and proposals: fetching, accepting and cancelling.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { acceptDeferred, ApiError, cancelDeferred, getWaiting, go } from "../api";
import { answerMany } from "../api/more";
import { plural } from "../format/numbers";
import { committing } from "../head";
import { isHeard } from "../live";
import { plainRemarks, remarksOf } from "../notices/remarks";
import { complain, tell } from "../notices/toasts";
import { keys, refreshed } from "../queries";
import { isProposal } from "./words";

const keyOf = (conversation: string) => [...keys.conversation(conversation), "waiting"] as const;

export function useWaiting(conversation: string) {
  return useQuery({ queryKey: keyOf(conversation), queryFn: () => getWaiting(conversation) });
}

/** Cancels a deferred edit, or dismisses a failed one. */
export function useCancel(conversation: string): (edit: string) => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    async (edit: string) => {
      try {
        const cancelled = await cancelDeferred(conversation, edit);
        tell(`${isProposal(cancelled) ? "Declined" : "Cancelled"}: ${cancelled.summary}`);
      } catch (error) {
        complain(error);
      }
      await queries.invalidateQueries({ queryKey: keyOf(conversation) });
    },
    [conversation, queries],
  );
}

/** Commits a proposal. */
export function useAccept(conversation: string): (edit: string) => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    async (edit: string) => {
      try {
        const call = () => acceptDeferred(conversation, edit);
        const { summary, commit, remarks } = await committing(queries, conversation, call, (accepted) => accepted.commit);
        if (!isHeard(commit)) void refreshed(queries, [conversation]);
        const undo = () =>
          committing(
            queries,
            conversation,
            () => go(conversation, { action: "undo", expect: commit }),
            (undone) => undone.commit,
          ).then(
            (undone) => tell(`Undone: ${undone.summary}`, null, null, remarksOf(undone)),
            complain,
          );
        const about = { conversation, commit };
        tell(`Accepted: ${summary}`, { label: "Undo", run: () => void undo() }, about, plainRemarks(remarks));
      } catch (error) {
        complain(error);
      }
      await queries.invalidateQueries({ queryKey: keyOf(conversation) });
    },
    [conversation, queries],
  );
}

/** Accepts or declines several proposals. */
export function useAnswerMany(conversation: string): (answer: "accept" | "cancel", ids: string[]) => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    async (answer, ids) => {
      try {
        const call = async () => (await answerMany(conversation, answer, ids)) ?? { done: [], refused: [], remarks: [] };
        const { done, refused, remarks } = await committing(queries, conversation, call, (all) => all.done.at(-1)?.commit);
        const count = plural(done.length, "proposal");
        const told = answer === "accept" ? `Accepted ${count}` : `Declined ${count}`;
        if (done.length > 0) tell(told, null, null, plainRemarks(remarks));
        for (const { id, code, message, hint } of refused) {
          complain(new ApiError(422, code, `${id} is unchanged: ${message}`, hint));
        }
        await refreshed(queries, [conversation]);
      } catch (error) {
        complain(error);
      }
      await queries.invalidateQueries({ queryKey: keyOf(conversation) });
    },
    [conversation, queries],
  );
}
