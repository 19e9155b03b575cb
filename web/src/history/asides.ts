// Events beside commits and requests, in words: phases, notes and signals of the automatic editor, refusals of the
// provider.

import type { NotedEvent, PhaseEvent, RefusedEvent, SignalEvent, TimelineEvent } from "../api";
import { count, plural } from "../format/numbers";
import { placeOf, reasonWords } from "../waiting/words";

export type AsideEvent = PhaseEvent | NotedEvent | SignalEvent | RefusedEvent;

export interface Aside {
  badge: string;
  color: string;
  words: string;
  /** The reason. */
  more: string | null;
}

const ASIDES: readonly string[] = ["phase", "noted", "signal", "refused"];

export function isAside(event: TimelineEvent): event is AsideEvent {
  return ASIDES.includes(event.kind);
}

export function aside(event: AsideEvent): Aside {
  switch (event.kind) {
    case "phase":
      return { badge: "phase", color: "indigo", words: `${event.name} ${event.ended ? "ends" : "begins"}`, more: `by ${event.author}` };
    case "noted":
      return noted(event);
    case "signal":
      return told(event);
    case "refused":
      return refused(event);
  }
}

function noted({ summary, note, tokens_before, tokens_after }: NotedEvent): Aside {
  const where = placeOf(summary);
  const what = where === null ? summary : `Results of ${where} would have been cleared`;
  const saved = `${count(tokens_before)} → ${count(tokens_after)} tokens`;
  return { badge: "observed", color: "gray", words: `${what}, ${saved}`, more: note === "" ? null : reasonWords(note) };
}

function told({ signal, tokens, window, percent, tokens_before, cleared, commit }: SignalEvent): Aside {
  if (signal === "CONTEXT_NEAR_LIMIT") {
    const words = `${count(tokens)} of ${count(window)} tokens`;
    return { badge: "near the limit", color: "orange", words, more: `threshold ${percent}%` };
  }
  const from = tokens_before == null ? "" : `${count(tokens_before)} → `;
  const done = cleared == null ? "" : `, ${plural(cleared, "piece")} cleared`;
  return { badge: "cleared", color: "grape", words: `${from}${count(tokens)} tokens${done}`, more: commit == null ? null : `commit ${commit}` };
}

const EDITS: Record<string, string> = {
  clear_tool_uses: "clear tool results",
  clear_thinking: "clear thinking",
  compact: "write summaries",
};

/** "clear_tool_uses_20250919" → "clear tool results". */
export function editWords(kind: string): string {
  const name = kind.replace(/_\d{8}$/, "");
  return EDITS[name] ?? name.replaceAll("_", " ");
}

function refused({ model, edits, words }: RefusedEvent): Aside {
  const what = edits.map(editWords).join(" and ");
  return {
    badge: "refused",
    color: "orange",
    words: `The provider refuses to ${what} for ${model}: ${words}`,
    more: "The request was sent without it. ctx tries again in a week.",
  };
}
