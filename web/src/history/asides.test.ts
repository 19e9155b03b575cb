import { expect, test } from "vitest";

import type { TimelineEvent } from "../api";
import { aside, type AsideEvent, editWords, isAside } from "./asides";

const at = { seq: 1, at: 1, conversation: "c1" };
const words = (event: AsideEvent) => {
  const { badge, words: said, more } = aside(event);
  return [badge, said, more];
};

test("phases begin and end, and somebody said so", () => {
  expect(words({ ...at, kind: "phase", name: "testing", ended: false, author: "cli" })).toEqual(["phase", "testing begins", "by cli"]);
  expect(words({ ...at, kind: "phase", name: "testing", ended: true, author: "hook" })[1]).toBe("testing ends");
});

test("what was observed says what would have gone, and why", () => {
  const noted: AsideEvent = {
    ...at,
    kind: "noted",
    request: 3,
    summary: "summarize-results t1 … t6 (6 frames), 3280 tokens less",
    note: "stale_tool_results (an old result)",
    tokens_before: 10_108,
    tokens_after: 6828,
  };
  expect(words(noted)).toEqual(["observed", "Results of t1 … t6 (6 frames) would have been cleared, 10,108 → 6,828 tokens", "old results"]);
  expect(words({ ...noted, summary: "something else", note: "" })).toEqual(["observed", "something else, 10,108 → 6,828 tokens", null]);
});

test("signals come with their figures", () => {
  const figures = { ...at, kind: "signal", request: 28, tokens: 10_108, window: 12_000, percent: 80, limit: 9600 } as const;
  expect(words({ ...figures, signal: "CONTEXT_NEAR_LIMIT" })).toEqual(["near the limit", "10,108 of 12,000 tokens", "threshold 80%"]);
  const done = words({ ...figures, signal: "COMPACTION_COMPLETE", tokens: 7000, tokens_before: 10_108, cleared: 6, commit: "0000000001" });
  expect(done).toEqual(["cleared", "10,108 → 7,000 tokens, 6 pieces cleared", "commit 0000000001"]);
});

test("a refusal says what is not asked for any more", () => {
  const [badge, said] = words({ ...at, kind: "refused", request: 2, model: "claude-x", edits: ["clear_tool_uses_20250919"], words: "not here" });
  expect([badge, said]).toEqual(["refused", "The provider refuses to clear tool results for claude-x: not here"]);
  expect(editWords("compact_20260112")).toBe("write summaries");
  expect(editWords("clear_moods_20300101")).toBe("clear moods");
});

test("requests and commits stand elsewhere", () => {
  expect(["request", "answer", "commit", "waiting"].some((kind) => isAside({ ...at, kind } as unknown as TimelineEvent))).toBe(false);
});
