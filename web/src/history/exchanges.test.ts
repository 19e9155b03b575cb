import { expect, test } from "vitest";

import type { AnswerEvent, RequestEvent, TimelineEvent } from "../api";
import { cacheShares, clearedWords, exchanges, missed, outcome, verdictMeaning } from "./exchanges";

function request(seq: number, number: number): RequestEvent {
  return {
    seq,
    at: seq,
    conversation: "c1",
    kind: "request",
    request: number,
    class: "main",
    verdict: "next",
    known: 1,
    new: 1,
    changed: 0,
    detail: null,
    model: "m",
    bytes: 1,
    frame: null,
  };
}

function answer(seq: number, to: number, more: Partial<AnswerEvent> = {}): AnswerEvent {
  return {
    seq,
    at: seq,
    conversation: "c1",
    kind: "answer",
    request: to,
    status: 200,
    stop_reason: "end_turn",
    usage: null,
    first_byte_ms: 1,
    total_ms: 2,
    error: null,
    cache_miss_reason: null,
    cache_miss: null,
    money: null,
    priced_as: null,
    expected: null,
    applied_edits: [],
    transformations: [],
    ending: "complete",
    repairs: [],
    undecodable: null,
    ...more,
  };
}

test("answers find their requests even when they overtake each other", () => {
  const rows = exchanges([request(11, 1), request(12, 2), answer(13, 2), answer(14, 1)]);
  expect(rows.map((row) => [row.request?.seq, row.answer?.seq])).toEqual([
    [12, 13],
    [11, 14],
  ]);
});

test("a request without an answer is on its way, an answer without its request is still shown", () => {
  const rows = exchanges([answer(5, 4), request(6, 5)]);
  expect(rows.map((row) => [row.request?.seq ?? null, row.answer?.seq ?? null])).toEqual([
    [6, null],
    [null, 5],
  ]);
  expect(rows.map(outcome)).toEqual(["waiting", "fine"]);
});

test("the opening of a conversation is no exchange", () => {
  expect(exchanges([{ ...request(1, 1), kind: "opened" } as unknown as TimelineEvent])).toEqual([]);
});

test("a cut stream is never shown as a fine one", () => {
  const row = (more: Partial<AnswerEvent>) => ({ seq: 1, at: 1, request: null, answer: answer(2, 1, more) });
  expect(outcome(row({ ending: "cut" }))).toBe("cut");
  expect(outcome(row({ ending: "cancelled" }))).toBe("cancelled");
  expect(outcome(row({ ending: "unreachable", status: 0 }))).toBe("unreachable");
  expect(outcome(row({ status: 529 }))).toBe("failed");
  expect(outcome(row({ status: 0 }))).toBe("failed");
  expect(outcome(row({ error: { kind: "overloaded_error", message: "Overloaded" } }))).toBe("failed");
});

test("the shares of what was read add up to one", () => {
  expect(cacheShares({ input: 10, cache_read: 70, cache_write: 20, output: 5 })).toEqual({
    read: 0.7,
    written: 0.2,
    fresh: 0.1,
    total: 100,
  });
  expect(cacheShares({ input: 0, cache_read: 0, cache_write: 0, output: 5 }).read).toBe(0);
});

test("a verdict this page does not know has no meaning made up for it", () => {
  expect(verdictMeaning("next")).toContain("new messages");
  expect(verdictMeaning("toString")).toBeNull();
});

test("what the provider cleared is said in words", () => {
  const edit = { kind: "clear_tool_uses_20250919", cleared_tool_uses: 8, cleared_input_tokens: 50_000 };
  expect(clearedWords(edit)).toBe("8 tool results, 50k tokens");
  expect(clearedWords({ ...edit, first: "t1/2", last: "t3/1" })).toBe("8 tool results, 50k tokens, from t1/2 to t3/1");
  expect(clearedWords({ ...edit, first: "t1/2", last: "t1/2" })).toBe("8 tool results, 50k tokens, in t1/2");
  expect(clearedWords({ kind: "clear_thinking_20251015", cleared_thinking_turns: 1 })).toBe("the thinking of 1 turn");
  expect(clearedWords({ kind: "something_new_20300101" })).toBe("something new");
  expect(clearedWords({})).toBe("an edit");
  expect(clearedWords("x")).toBe("x");
});

test("a missed cache is told with its cause, unless it is no news", () => {
  const plain = { by: "client", commit: null, idle_seconds: null, ttl_seconds: null, words: "" } as const;
  const with_miss = (
    cause: "edited" | "expired" | "unknown" | "first-request",
    tokens: number,
    place: string | null = null,
  ) => missed(answer(1, 1, { cache_miss: { ...plain, cause, place, tokens } }));
  expect(with_miss("edited", 9000, "t3")).toBe("9k tokens were read again because of an edit at t3.");
  expect(with_miss("expired", 1200)).toBe("1.2k tokens were read again because the cache had expired.");
  expect(with_miss("unknown", 1200)).toBe("1.2k tokens were read again; the cause is unknown.");
  const usage = { input: 100, cache_read: 0, cache_write: 3900, output: 1 };
  const shrunk = answer(1, 1, { usage, cache_miss: { ...plain, cause: "edited", place: null, tokens: 9000 } });
  expect(missed(shrunk)).toBe("4k tokens were read again because of an edit.");
  expect(with_miss("first-request", 9000)).toBeNull();
  expect(with_miss("edited", 40)).toBeNull();
  expect(missed(answer(1, 1))).toBeNull();
  expect(missed(answer(1, 1, { cache_miss_reason: "model_mismatch" }))).toBe("The cache was missed: model mismatch.");
});
