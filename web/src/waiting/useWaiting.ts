// Changes that wait for their moment, and proposals: asked for, accepted and taken back.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { acceptWish, ApiError, cancelWish, getWaiting, go } from "../api";
import { answerMany } from "../api/more";
import { plural } from "../format/numbers";
import { noteMade, shownHead } from "../head";
import { isHeard } from "../live";
import { complain, tell } from "../notices/toasts";
import { keys, refreshed } from "../queries";
import { isProposal } from "./words";

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
        const cancelled = await cancelWish(conversation, wish);
        tell(`${isProposal(cancelled) ? "Declined" : "Cancelled"}: ${cancelled.summary}`);
      } catch (error) {
        complain(error);
      }
      await queries.invalidateQueries({ queryKey: keyOf(conversation) });
    },
    [conversation, queries],
  );
}

/** Makes a proposal a commit. */
export function useAccept(conversation: string): (wish: string) => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    async (wish: string) => {
      try {
        const before = shownHead(queries, conversation);
        const { summary, commit } = await acceptWish(conversation, wish);
        if (before !== undefined) noteMade(conversation, before, commit);
        if (!isHeard(commit)) void refreshed(queries, [conversation]);
        const undo = () => go(conversation, { action: "undo", expect: commit }).then(({ summary: undone }) => tell(`Undone: ${undone}`), complain);
        tell(`Accepted: ${summary}`, { label: "Undo", run: () => void undo() }, { conversation, commit });
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
        const outcome = await answerMany(conversation, answer, ids);
        const done = plural(outcome?.done.length ?? 0, "proposal");
        tell(answer === "accept" ? `Accepted ${done}` : `Declined ${done}`);
        for (const { code, message, hint } of outcome?.refused ?? []) complain(new ApiError(422, code, message, hint));
        await refreshed(queries, [conversation]);
      } catch (error) {
        complain(error);
      }
      await queries.invalidateQueries({ queryKey: keyOf(conversation) });
    },
    [conversation, queries],
  );
}
