// Undo, redo, revert, rollback, branch and tag, with notices about the outcome. All of them can be undone.

import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { type EditResult, type HistoryRequest, go as walk } from "../api";
import { short } from "../format/numbers";
import { committing, expectedHead, shownHead } from "../head";
import { remarksOf } from "../notices/remarks";
import { complain, settle, tell } from "../notices/toasts";
import { keys } from "../queries";
import { said } from "./commits";
import { allHistory } from "./useAllHistory";

export type Step = Pick<HistoryRequest, "action"> & { target?: string; name?: string; cascade?: boolean };

export interface Ways {
  /** Whether it was applied. If `told` is false, a refusal is thrown instead of shown. */
  go: (step: Step, told?: boolean) => Promise<boolean>;
  undo: () => Promise<boolean>;
  redo: () => Promise<boolean>;
}

export function useWays(conversation: string | null): Ways {
  const queries = useQueryClient();
  return useMemo(() => {
    const go = async (step: Step, told = true): Promise<boolean> => {
      if (conversation === null) return false;
      try {
        // Sequential: two quick presses are two steps.
        const applied = await inTurn(conversation, async () => {
          if (!MOVES.includes(step.action)) return walk(conversation, { ...step, expect: null });
          const shown = shownHead(queries, conversation);
          const expect = shown === undefined ? null : expectedHead(conversation, shown);
          const call = () => walk(conversation, { ...step, expect });
          return committing(queries, conversation, call, ({ commit }) => commit);
        });
        void queries.invalidateQueries({ queryKey: keys.conversation(conversation) });
        // Only the history has the summary of the undone commit.
        const commits = await queries.fetchQuery(allHistory(conversation)).then(
          (history) => history.commits,
          () => [],
        );
        settle(conversation);
        tell(inPast(step, applied, commits), back(step, go), { conversation, commit: applied.commit }, remarksOf(applied));
        return true;
      } catch (error) {
        if (!told) throw error;
        complain(error);
        return false;
      }
    };
    return { go, undo: () => go({ action: "undo" }), redo: () => go({ action: "redo" }) };
  }, [conversation, queries]);
}

/** A change of the newest commit is refused if the screen showed another one. */
const MOVES: HistoryRequest["action"][] = ["undo", "redo", "revert", "rollback"];

const running = new Map<string, Promise<unknown>>();

function inTurn<Result>(conversation: string, task: () => Promise<Result>): Promise<Result> {
  const before = running.get(conversation) ?? Promise.resolve();
  const mine = before.then(task, task);
  running.set(conversation, mine);
  return mine;
}

/** Undoes a step with one press. */
function back(step: Step, go: Ways["go"]): { label: string; run: () => void } | null {
  if (step.action === "undo") return { label: "Redo", run: () => void go({ action: "redo" }) };
  if (["redo", "revert", "rollback"].includes(step.action)) {
    return { label: "Undo", run: () => void go({ action: "undo" }) };
  }
  return null;
}

const PAST: Record<HistoryRequest["action"], string> = {
  undo: "Undone",
  redo: "Redone",
  revert: "Reverted",
  rollback: "Rolled back",
  branch: "New branch",
  checkout: "Now on branch",
  tag: "Tagged",
  remove_branch: "Branch removed",
  remove_tag: "Tag removed",
};

/** "Undone: delete t3 · 24.3k → 28.7k tokens". */
export function inPast(step: Step, applied: EditResult, commits: { id: string; summary: string }[]): string {
  const quoted = /“(.*)”/.exec(said(applied.summary, commits))?.[1];
  const what =
    step.action === "rollback"
      ? `to ${step.target === "source" ? "the agent’s version" : (step.target ?? "")}`
      : (step.name ?? quoted ?? "");
  const { tokens_before, tokens_after } = applied;
  const tokens = tokens_before === tokens_after ? "" : ` · ${short(tokens_before)} → ${short(tokens_after)} tokens`;
  return `${PAST[step.action]}${what === "" ? "" : step.action === "rollback" ? ` ${what}` : `: ${what}`}${tokens}`;
}
