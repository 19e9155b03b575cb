// The head that an edit expects. An edit is refused if another client has committed since the screen was drawn; commits
// of this tab that the screen does not show yet do not count.

import type { QueryClient } from "@tanstack/react-query";

import type { Frames, History } from "./api";
import { allHistory } from "./history/useAllHistory";
import { framesKey } from "./queries";

/** Per conversation: the newest commit of this tab, and the head on the screen when it was made. */
const made = new Map<string, { shown: string; head: string }>();

/** The head on the screen: of the frames or of the history, whichever arrived last. Undefined before either has. */
export function shownHead(queries: QueryClient, conversation: string): string | undefined {
  const frames = queries.getQueryState<Frames>(framesKey(conversation));
  const history = queries.getQueryState<History>(allHistory(conversation).queryKey);
  const newest = (history?.dataUpdatedAt ?? 0) > (frames?.dataUpdatedAt ?? 0) ? history : frames;
  return newest?.data === undefined ? undefined : (newest.data.head ?? "none");
}

/** The head that a new edit expects: the one on the screen, or this tab's commit on top of it. */
export function expectedHead(conversation: string, shown: string): string {
  const last = made.get(conversation);
  return last?.shown === shown ? last.head : shown;
}

/** Runs a call that commits, and records its commit as one of this tab's. */
export async function committing<Answer>(
  queries: QueryClient,
  conversation: string,
  call: () => Promise<Answer>,
  commitOf: (answer: Answer) => string | null | undefined,
): Promise<Answer> {
  const shown = shownHead(queries, conversation) ?? "none";
  const answer = await call();
  noteMade(conversation, shown, commitOf(answer));
  return answer;
}

function noteMade(conversation: string, shown: string, head: string | null | undefined): void {
  if (head != null) made.set(conversation, { shown, head });
}
