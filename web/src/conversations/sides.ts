// Names of the classes of side requests.

import type { Conversation } from "../api";
import { plural, short } from "../format/numbers";

const CLASSES: Record<string, string> = {
  auxiliary: "titles, suggestions, side questions",
  compaction: "the agent’s own summaries",
};

export interface SideLine {
  class: string;
  /** "12 requests, 34k tokens" */
  figures: string;
  /** The purpose of such requests. */
  what: string;
  last: number;
}

export function sideLines({ side = [] }: Pick<Conversation, "side">): SideLine[] {
  return side.map(({ class: of, requests, tokens, last_at }) => ({
    class: of,
    figures: `${plural(requests, "request")}${tokens > 0 ? `, ${short(tokens)} tokens` : ""}`,
    what: CLASSES[of] ?? of,
    last: last_at,
  }));
}

export function sideRequests(conversations: readonly Pick<Conversation, "side">[]): number {
  return conversations.reduce((sum, { side = [] }) => sum + side.reduce((all, { requests }) => all + requests, 0), 0);
}
