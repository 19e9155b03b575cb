import { expect, test } from "vitest";

import type { DeferredEdit } from "../api";
import { choices, goes, heading, placeOf, proposalWords, reasonWords, shown, waitsFor } from "./words";

const situation = { cold_at: 300_000, tokens: 3366, limit: 160_000 };

test("what a change waits for says how far that is", () => {
  expect(waitsFor("cold", situation, 60_000)).toBe("until the cache is cold: in 4 minutes, unless a request comes first");
  expect(waitsFor("cold", situation, 290_000)).toContain("in less than a minute");
  expect(waitsFor("cold", situation, 300_000)).toBe("until the cache is cold, with the next request");
  expect(waitsFor("near-limit", situation, 0)).toBe("until the context nears the limit: 160,000 tokens, now 3,366");
});

test("a moment that is here is said to be", () => {
  const cold = (waiting: typeof situation | undefined, now: number) => choices(waiting, now)[1]?.label;
  expect(cold(situation, 0)).toBe("When the cache is cold (in 5 minutes)");
  expect(cold(situation, 400_000)).toBe("When the cache is cold (now)");
  expect(cold(undefined, 0)).toBe("When the cache is cold");
});

test("what was made or cancelled need not be looked at", () => {
  const edits = ["waiting", "made", "failed", "cancelled"].map((state) => ({ state }) as DeferredEdit);
  expect(shown(edits).map(({ state }) => state)).toEqual(["waiting", "failed"]);
});

test("proposals and changes are counted apart", () => {
  const edits = (...whens: DeferredEdit["when"][]) => whens.map((when) => ({ when, author: "policy" }) as DeferredEdit);
  expect(heading(edits("cold", "near-limit"))).toBe("2 deferred edits");
  expect(heading(edits("accepted", "cold"))).toBe("1 proposal of the automatic editor, 1 deferred edit");
  expect(heading([...edits("accepted"), { when: "accepted", author: "agent" } as DeferredEdit])).toBe("2 proposals");
  expect(waitsFor("accepted", situation, 0)).toBe("for your decision");
});

test("a proposal says what goes, and why", () => {
  const clear = (...calls: string[]) => ({ op: "summarize-results" as const, ids: [], select: { calls } });
  const edit = {
    operations: [clear("a"), clear("b", "c"), clear("d")],
    reasons: ["stale_tool_results (an old result)", "verbose_debug (long)", null],
  } as unknown as DeferredEdit;
  expect(goes(edit)).toEqual([
    { why: "long command output", results: 2 },
    { why: "old results", results: 1 },
    { why: "no reason given", results: 1 },
  ]);
  expect(reasonWords("attention_budget (more than 15000 tokens of searches)")).toBe("attention budget: more than 15000 tokens of searches");
  expect(reasonWords("3101 tokens less, paid off after 4 requests")).toBe("3101 tokens less, paid off after 4 requests");
  expect(placeOf("summarize-results t1 … t6 (6 frames), 3101 tokens less")).toBe("t1 … t6 (6 frames)");
  expect(placeOf("heal")).toBeNull();
  const sizes = { tokens_before: 10_108, tokens_after: 7007, operations: edit.operations };
  expect(proposalWords({ ...sizes, summary: "summarize-results t1, 3101 tokens less" })).toBe("Clear results of t1, 3,101 tokens less");
  expect(proposalWords({ ...sizes, summary: "heal" })).toBe("heal");
  const operations: DeferredEdit["operations"] = [{ op: "delete", ids: ["t1"] }];
  expect(proposalWords({ ...sizes, operations, summary: "delete t1, 3101 tokens less" })).toBe("delete t1, 3101 tokens less");
});
