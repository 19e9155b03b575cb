import { expect, test } from "vitest";

import type { ContextFill } from "../api";
import { clearable, facts, filled, parts } from "./words";

const fill: ContextFill = {
  conversation: "c1",
  tokens: 142_000,
  calibrated: true,
  window: 200_000,
  percent: 71,
  threshold_percent: 80,
  status: "normal",
  mode: "off",
  provider_edits: false,
  preserved: 45_000,
  clearable: [
    { target: "stale_tool_results", tokens: 40_000 },
    { target: "completed_phase_details", tokens: 0 },
    { target: "verbose_debug", tokens: 2000 },
  ],
  saved: 0,
  saved_automatically: 0,
  left_out: 0,
  noted: 0,
  account: null,
  proposals: 0,
  hindrances: [],
  project_settings: null,
  phases: [],
  cache: null,
};

const said = (more: Partial<ContextFill>, now = 0) =>
  Object.fromEntries(facts({ ...fill, ...more }, true, now).map(({ name, value }) => [name, value]));

test("a context is told by what is used, what stays and what may go", () => {
  expect(said({})).toEqual({
    Used: "142,000 of 200,000 tokens, 71%; counted by the provider",
    Status: "NORMAL; threshold 80%",
    "Automatic editing": "off: clears nothing",
    Preserved: "45,000 tokens of pinned, preserved or recent results",
    Clearable: "42,000 tokens, in this order",
    Saved: "0 tokens per request",
  });
  const [kinds] = facts(fill, true, 0).flatMap(({ list }) => (list === undefined ? [] : [list]));
  expect(kinds).toEqual(["old results: 40,000", "long command output: 2,000"]);
  expect(clearable(fill)).toBe(42_000);
});

test("what is not there is not told; what is, is", () => {
  const all = said({
    status: "near-limit",
    mode: "observe",
    provider_edits: true,
    saved: 9000,
    saved_automatically: 4000,
    left_out: 700,
    noted: 3100,
    proposals: 1,
    hindrances: ["nothing is cleared: the disk is full"],
    phases: ["testing", "release"],
  });
  expect(all.Status).toMatch(/^NEAR LIMIT/);
  expect(said({ status: "over" }).Status).toMatch(/^OVER: larger than the model’s window; /);
  expect(all["Automatic editing"]).toMatch(/^observe: .*; provider editing is on too$/);
  expect(all.Saved).toBe("9,000 tokens per request, 4,000 by automatic editing");
  expect(all["Cleared"]).toBe("700 tokens by the provider");
  expect(all["Would save"]).toBe("3,100 more tokens in mode “on”");
  expect(all.Proposed).toMatch(/^1 change,/);
  expect(all.Problems).toBe("nothing is cleared: the disk is full");
  expect(all["Open phases"]).toBe("testing, release");
});

test("the account tells what edits saved or owe, and what comes next", () => {
  const account = {
    spent: 12.5,
    saved: 1.2,
    credit: 0.25,
    bound: 0.02,
    exceptions: 0,
    exceptions_cost: 0,
    help: 0,
    next: "nothing is old enough to clear",
  };
  expect(said({ account }).Account).toBe("$12.50 spent, $1.20 saved by edits; at most $0.25 may be owed");
  expect(said({ account }).Next).toBe("nothing is old enough to clear");
  expect(said({ account: { ...account, saved: -0.06 } }).Account).toMatch(/ \$0\.06 owed by edits;/);
  expect(said({ account: { ...account, help: 0.02 } }).Account).toMatch(/^\$12\.50 spent \(\$0\.02 for summaries of phases\), /);
  expect(said({ account })["Limit exceptions"]).toBeUndefined();
  expect(said({ account: { ...account, exceptions: 2, exceptions_cost: 0.31 } })["Limit exceptions"]).toBe(
    "2 edits near the limit of the window beyond the bound of 2%, costing $0.31",
  );
});

test("the weekly replay is told unless the editor is on", () => {
  const week = { at: 1, conversations: 30, steps: 1840, cost: 61.2, saved: 7.4, saved_range: [5.1, 9], harmed_steps: 4 };
  const told = (mode: ContextFill["mode"], more = {}) =>
    facts({ ...fill, mode }, true, 0, { ...week, ...more }).find(({ name }) => name === "Last 30 conversations")?.value;
  expect(told("observe")).toBe(
    "mode “on” would have saved $7.40 of $61.20 (likely $5.10 to $9.00) and harmed 4 of 1,840 steps",
  );
  expect(told("off", { saved: -0.2, saved_range: null })).toMatch(/cost \$0\.20 more than \$61\.20 and harmed 4/);
  expect(told("on")).toBeUndefined();
});

test("the cache is warm until it is not", () => {
  const cache = { until: "t3", tokens: 9000, at: 0, ttl_seconds: 300, expires_at: 300_000, warm: true, read: 1, written: 1 };
  expect(said({ cache }, 60_000).Cache).toBe("warm: 9,000 tokens, for 4 more minutes");
  expect(said({ cache }, 300_000).Cache).toMatch(/^cold/);
});

test("the parts of the bar are one together, also over the limit", () => {
  for (const tokens of [0, 30_000, 142_000, 260_000]) {
    const { preserved, clearable: goes, other, free, threshold } = parts({ ...fill, tokens });
    expect(preserved + goes + other + free).toBeCloseTo(1);
    for (const share of [preserved, goes, other, free, threshold]) expect(share).toBeGreaterThanOrEqual(0);
  }
  expect(parts({ ...fill, tokens: 260_000 }).free).toBe(0);
  expect(filled(260_000, 200_000)).toBe("130%");
  expect(filled(1000, 200_000)).toBe("<1%");
  expect(filled(1000, 0)).toBe("0%");
});
