import { expect, test } from "vitest";

import type { Wish } from "../api";
import { choices, shown, waitsFor } from "./words";

const situation = { cold_at: 300_000, tokens: 3366, limit: 160_000 };

test("what a change waits for says how far that is", () => {
  expect(waitsFor("cold", situation, 60_000)).toBe("until the cache is cold: in 4 minutes, if no request comes before");
  expect(waitsFor("cold", situation, 290_000)).toContain("in less than a minute");
  expect(waitsFor("cold", situation, 300_000)).toBe("until the cache is cold, with the next request");
  expect(waitsFor("near-limit", situation, 0)).toBe("until the context nears the limit: 160,000 tokens, now 3,366");
});

test("a moment that is here is said to be", () => {
  const cold = (waiting: typeof situation | undefined, now: number) => choices(waiting, now)[1]?.label;
  expect(cold(situation, 0)).toBe("When the cache is cold (in 5 minutes)");
  expect(cold(situation, 400_000)).toBe("When the cache is cold (it is)");
  expect(cold(undefined, 0)).toBe("When the cache is cold");
});

test("what was made or cancelled need not be looked at", () => {
  const wishes = ["waiting", "made", "failed", "cancelled"].map((state) => ({ state }) as Wish);
  expect(shown(wishes).map(({ state }) => state)).toEqual(["waiting", "failed"]);
});
