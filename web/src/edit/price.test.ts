import { expect, test } from "vitest";

import type { PlanView } from "../api";
import { figures, warnings } from "./price";

function plan(before: number, after: number, more: object = {}): PlanView {
  return {
    tokens_before: before,
    tokens_after: after,
    preview: { tokens_reread: 0, first_change: null, thinking_dropped: 0, thinking_tokens: 0, repairs: [] },
    thinking_lost: 0,
    operations: [],
    cost: { without: 100, first: 200, later: 50, pays_off_after: 3 },
    ...more,
  } as unknown as PlanView;
}

const texts = (view: PlanView, calibrated = true) => figures(view, calibrated).map(({ text }) => text);

test("the tag says what is saved, what is read again, and when that pays off", () => {
  const preview = { tokens_reread: 1500, first_change: "t2", thinking_dropped: 0, thinking_tokens: 0, repairs: [] };
  expect(texts(plan(9000, 4000, { preview }))).toEqual(["−5k per turn", "1.5k re-read once", "pays off after 3 turns"]);
  expect(texts(plan(9000, 4000), false)[0]).toBe("−≈5k per turn");
});

test("thinking that is lost is named beside what the operation saves itself, and its blocks once", () => {
  const lost = (before: number, after: number, tokens: number) => {
    const preview = { tokens_reread: 0, first_change: "t2", thinking_dropped: 6, thinking_tokens: tokens, repairs: [] };
    return plan(before, after, { preview, thinking_lost: 6 });
  };
  expect(texts(lost(30_000, 9_746, 20_200))[0]).toBe("−54 per turn, and 20.2k of thinking");
  expect(figures(lost(30_000, 9_800, 20_200), true)[0]?.tone).toBe("plain");
  expect(texts(lost(30_000, 10_000, 20_200), false)[0]).toBe("+≈200 per turn, and ≈20.2k of thinking");
  expect(texts(lost(9000, 4000, 100))).not.toContain("6 thinking blocks lost");
  const alone = figures(lost(9000, 4000, 100), true, "now", true).map(({ text }) => text);
  expect(alone).toContain("6 thinking blocks lost");
});

test("what waits for a cold cache is not read again for it", () => {
  const preview = { tokens_reread: 1500, first_change: "t2", thinking_dropped: 0, thinking_tokens: 0, repairs: [] };
  const waits = figures(plan(9000, 4000, { preview }), true, "cold").map(({ text }) => text);
  expect(waits).toEqual(["−5k per turn", "no extra re-read"]);
});

test("what costs more than it saves is said so", () => {
  const cost = { without: 100, first: 200, later: 120, pays_off_after: null };
  expect(texts(plan(100, 300, { cost }))).toEqual(["+200 per turn", "never pays off"]);
  expect(texts(plan(100, 100, { cost }))).toEqual(["same size"]);
});

test("money is shown where the price is known, and decides when it pays off", () => {
  const money = { without: 0.02, first: 0.05, later: 0.012, pays_off_after: 5 };
  const cost = { without: 100, first: 200, later: 50, pays_off_after: 3, money };
  expect(texts(plan(9000, 4000, { cost }))).toEqual(["−5k per turn", "−$0.0080 per turn", "pays off after 5 turns"]);
  const same = { ...cost, money: { ...money, later: 0.02, pays_off_after: null } };
  expect(texts(plan(9000, 9000, { cost: same }))).toEqual(["same size", "$0.030 once"]);
  expect(texts(plan(9000, 4000, { cost: { ...cost, money: null } }))).toContain("pays off after 3 turns");
});

test("warnings come once, the worst first", () => {
  const operations = [
    { risks: [{ level: "low", what: "a" }], nothing: null },
    {
      risks: [
        { level: "high", what: "b" },
        { level: "low", what: "a" },
      ],
      nothing: "c",
    },
  ];
  expect(warnings(plan(1, 1, { operations })).map(({ text }) => text)).toEqual(["b", "a", "c"]);
  const warned = warnings(plan(1, 1, { operations, warnings: ["this removes notes"] }));
  expect(warned.map(({ text }) => text)).toEqual(["this removes notes", "b", "a", "c"]);
  expect(warned[0]?.level).toBe("high");
});
