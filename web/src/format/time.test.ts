import { describe, expect, test } from "vitest";

import { ago, clock, duration, moment } from "./time";

const NOW = new Date(2026, 10, 15, 14, 3, 7).getTime();

describe("ago", () => {
  test.each([
    [0, "now"],
    [-30_000, "now"],
    [40_000, "40s"],
    [12 * 60_000, "12m"],
    [3 * 3_600_000 + 1, "3h"],
    [5 * 86_400_000, "5d"],
    [40 * 86_400_000, "2026-10-06"],
  ])("calls a moment %d ms before now %s", (past, expected) => expect(ago(NOW - past, NOW)).toBe(expected));
});

describe("duration", () => {
  test.each([
    [0.4, "0 ms"],
    [340, "340 ms"],
    [12_400, "12.4 s"],
    [59_949, "59.9 s"],
    [59_960, "1 min 0 s"],
    [95_000, "1 min 35 s"],
    [7_500_000, "2 h 5 min"],
  ])("writes %d ms as %s", (value, expected) => expect(duration(value)).toBe(expected));
});

test("a moment is written in the reader's own time", () => {
  expect(clock(NOW)).toBe("14:03:07");
  expect(moment(NOW)).toBe("2026-11-15 14:03:07");
});
