import { expect, test } from "vitest";

import type { Frame } from "../api";
import { segments, share } from "./shares";

function frame(id: string, tokens: number): Frame {
  return {
    id,
    kind: "turn",
    title: id,
    tokens,
    source_tokens: tokens,
    messages: 1,
    steps: 0,
    state: [],
    by: [],
    pinned: false,
    pending: false,
  };
}

test("an empty conversation has no shares instead of a division by zero", () => {
  expect(share(0, 0)).toBe(0);
  expect(share(5, 0)).toBe(0);
  expect(segments([], null)).toEqual({ segments: [], free: 0 });
  expect(segments([frame("t1", 0)], null)).toEqual({ segments: [], free: 0 });
});

test("the strip shows the room left in a known window", () => {
  const strip = segments([frame("t1", 50), frame("t2", 30)], 100);
  expect(strip.segments.map((segment) => segment.share)).toEqual([0.5, 0.3]);
  expect(strip.free).toBeCloseTo(0.2);
});

test("a conversation larger than its window fills the strip and no more", () => {
  const strip = segments([frame("t1", 150), frame("t2", 50)], 100);
  expect(strip.segments.map((segment) => segment.share)).toEqual([0.75, 0.25]);
  expect(strip.free).toBe(0);
});

test("very many frames are drawn as few segments, and nothing is lost", () => {
  const many = Array.from({ length: 2000 }, (_, index) => frame(`t${index + 1}`, 10));
  const strip = segments(many, null);
  expect(strip.segments.length).toBeLessThanOrEqual(240);
  expect(strip.segments.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(20_000);
});
