// Pairs the timeline's events: a request together with its response.

import type { AnswerEvent, RequestEvent, TimelineEvent, Usage } from "../api";
import { plural, short } from "../format/numbers";

export interface Exchange {
  seq: number;
  at: number;
  /** Absent if the request is older than the loaded events. */
  request: RequestEvent | null;
  /** Absent while the response is pending. */
  answer: AnswerEvent | null;
}

/** Newest first. */
export function exchanges(events: TimelineEvent[]): Exchange[] {
  const answers = new Map<number, AnswerEvent>();
  const requests = new Set<number>();
  for (const event of events) {
    if (event.kind === "answer") answers.set(event.request, event);
    else if (event.kind === "request") requests.add(event.request);
  }
  const rows: Exchange[] = [];
  for (const event of events) {
    if (event.kind === "request") {
      rows.push({ seq: event.seq, at: event.at, request: event, answer: answers.get(event.request) ?? null });
    } else if (event.kind === "answer" && !requests.has(event.request)) {
      rows.push({ seq: event.seq, at: event.at, request: null, answer: event });
    }
  }
  return rows.sort((left, right) => right.seq - left.seq);
}

export interface CacheShares {
  read: number;
  written: number;
  fresh: number;
  total: number;
}

/** Everything read for one response, by kind of cost; the three shares add up to one. */
export function cacheShares(usage: Usage): CacheShares {
  const total = usage.input + usage.cache_read + usage.cache_write;
  const of = (part: number) => (total > 0 ? part / total : 0);
  return { read: of(usage.cache_read), written: of(usage.cache_write), fresh: of(usage.input), total };
}

const VERDICTS: Record<string, string> = {
  new: "The first request of this conversation",
  next: "The known history with new messages",
  retry: "The same messages again",
  rewind: "The client went back in its history",
  return: "The client returned to a branch it had left",
  compaction: "The client replaced its history with a summary",
  rerender: "The client rewrote its history; unchanged parts identified it",
  unrelated: "Unknown to this conversation",
  side: "A side request, such as a title or a suggestion",
};

const WORDS: Record<string, string> = {
  new: "first request",
  next: "request",
  side: "side request",
  rerender: "rewritten",
  unrelated: "unknown",
};

/** The kind of a request. */
export function verdictWord(verdict: string): string {
  return Object.hasOwn(WORDS, verdict) ? (WORDS[verdict] ?? verdict) : verdict;
}

/** The meaning of a verdict; none for an unknown one. */
export function verdictMeaning(verdict: string): string | null {
  return Object.hasOwn(VERDICTS, verdict) ? (VERDICTS[verdict] ?? null) : null;
}

/** The outcome of an exchange, for its mark. */
export function outcome({ answer }: Exchange): "waiting" | "fine" | "failed" | "cut" | "cancelled" | "unreachable" {
  if (answer === null) return "waiting";
  if (answer.ending === "cut" || answer.ending === "cancelled" || answer.ending === "unreachable") return answer.ending;
  return answer.error !== null || answer.status === 0 || answer.status >= 400 ? "failed" : "fine";
}

/** Content that the provider itself cleared: "8 tool results, 50k tokens, from t1/2 to t3/1". */
export function clearedWords(edit: unknown): string {
  if (typeof edit !== "object" || edit === null) return String(edit);
  const fields = edit as Record<string, unknown>;
  const number = (name: string) => (typeof fields[name] === "number" ? fields[name] : 0);
  const text = (name: string) => (typeof fields[name] === "string" ? fields[name] : null);
  const parts = [
    number("cleared_tool_uses") > 0 ? plural(number("cleared_tool_uses"), "tool result") : null,
    number("cleared_thinking_turns") > 0 ? `the thinking of ${plural(number("cleared_thinking_turns"), "turn")}` : null,
    number("cleared_input_tokens") > 0 ? `${short(number("cleared_input_tokens"))} tokens` : null,
  ].filter((part) => part !== null);
  if (parts.length === 0) return text("kind")?.replace(/_\d{8}$/, "").replaceAll("_", " ") ?? "an edit";
  const [first, last] = [text("first"), text("last")];
  const place = first === null || last === null ? [] : [first === last ? `in ${first}` : `from ${first} to ${last}`];
  return [...parts, ...place].join(", ");
}

const CAUSES: Record<string, string> = {
  "model-changed": "the client changed the model",
  "tools-changed": "the tools changed",
  "out-of-reach": "no breakpoint reaches back that far",
  "manner-changed": "the settings for thinking or tools changed",
  "system-changed": "the system prompt changed",
  edited: "of an edit",
  "history-changed": "the agent changed its history",
  cleared: "the provider cleared some of it",
  expired: "the cache had expired",
  "below-minimum": "the prompt is too short to be cached",
};

/** The cause of a cache miss; nothing if it is expected. */
export function missed({ cache_miss, cache_miss_reason, usage }: AnswerEvent): string | null {
  if (cache_miss == null) {
    return cache_miss_reason == null ? null : `The cache was missed: ${cache_miss_reason.replaceAll("_", " ")}.`;
  }
  const { cause, place } = cache_miss;
  // Removed content was in the cache too, but is not read any more.
  const tokens = Math.min(cache_miss.tokens, usage == null ? Infinity : usage.input + usage.cache_write);
  if (cause === "first-request" || tokens < WORTH_TELLING) return null;
  const why = CAUSES[cause];
  const where = place === null ? "" : ` at ${place}`;
  const because = why === undefined ? "; the cause is unknown" : ` because ${why}${where}`;
  return `${short(tokens)} tokens were read again${because}.`;
}

/** Smaller re-reads are normal and not reported. */
const WORTH_TELLING = 500;
