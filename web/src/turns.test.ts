import { expect, test } from "vitest";

import { LAST, turnOf } from "./turns";

test("what a view is drawn of comes in the first turn", () => {
  // The words of the chat do not wait for the list of its frames.
  expect(["frames", "frame"].map((what) => turnOf("chat", what))).toEqual([0, 0]);
  expect(turnOf("frames", "frames")).toBe(0);
  expect(["history", "timeline"].map((what) => turnOf("history", what))).toEqual([0, 0]);
  expect(turnOf("map", "map")).toBe(0);
});

test("what stands around it follows, and what nobody waits for is last", () => {
  expect(["history", "waiting"].map((what) => turnOf("chat", what))).toEqual([1, 1]);
  expect(turnOf("map", "frames")).toBe(1);
  expect(["explanation", "price", "diff"].map((what) => turnOf("chat", what))).toEqual([LAST, LAST, LAST]);
  expect(turnOf("frames", "frame")).toBe(LAST);
});
