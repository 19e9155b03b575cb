// Requests that failed or were cancelled, by conversation and outcome.

import type { AnswerEvent, TimelineEvent } from "../api";

export interface Incomplete {
  conversation: string;
  request: number;
  at: number;
  /** A person or the agent cancelled the response: not a failure. */
  cancelled: boolean;
  words: string;
}

/** Of one conversation's timeline, the newest first. */
export function incompleteOf(conversation: string, events: readonly TimelineEvent[]): Incomplete[] {
  return events
    .filter((event) => event.kind === "answer")
    .filter((answer) => endingWords(answer) !== null)
    .map((answer) => ({
      conversation,
      request: answer.request,
      at: answer.at,
      cancelled: answer.ending === "cancelled",
      words: endingWords(answer) ?? "",
    }))
    .sort((left, right) => right.at - left.at);
}

/** The outcome of a response; nothing if it succeeded. */
function endingWords({ ending, status, error }: AnswerEvent): string | null {
  if (ending === "cancelled") return "cancelled by the client";
  if (ending === "unreachable" || status === 0) return "the provider could not be reached";
  if (error !== null) return `${status} ${error.kind}: ${error.message}`;
  if (status >= 400) return `the provider responded with ${status}`;
  return ending === "cut" ? "the response was cut off" : null;
}
