import { expect, test } from "vitest";

import type { Frame } from "../api";
import { legend, segments, share } from "./shares";

function frame(id: string, tokens: number, kind: Frame["kind"] = "turn"): Frame {
  return {
    id,
    kind,
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

test("the legend names every colour of the strip with its tokens, and nothing that is not there", () => {
  const frames = [frame("system", 300, "system"), frame("t1", 500), frame("t2", 200)];
  expect(legend(frames, 2000)).toEqual([
    { kind: "system", label: "system prompt", tokens: 300 },
    { kind: "turn", label: "2 frames, one segment each:", tokens: 700 },
    { kind: "free", label: "free", tokens: 1000 },
  ]);
  expect(legend(frames, null).map(({ kind }) => kind)).toEqual(["system", "turn"]);
});
