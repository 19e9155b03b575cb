import { expect, test } from "vitest";

import { below, lanes, width } from "./lanes";

test("one line of commits stays in one lane", () => {
  const placed = lanes([
    { id: "c", parent: "b" },
    { id: "b", parent: "a" },
    { id: "a", parent: null },
  ]);
  expect(placed.map(({ lane }) => lane)).toEqual([0, 0, 0]);
  expect(placed.map(({ from }) => from)).toEqual([[], [0], [0]]);
  expect(placed.at(-1)?.goesOn).toBe(false);
  expect(width(placed)).toBe(1);
});

test("a branch gets a lane of its own until the commit where it began", () => {
  const placed = lanes([
    { id: "trial2", parent: "trial1" },
    { id: "main2", parent: "main1" },
    { id: "trial1", parent: "main1" },
    { id: "main1", parent: null },
  ]);
  expect(placed.map(({ lane }) => lane)).toEqual([0, 1, 0, 0]);
  expect(placed[1]?.past).toEqual([0]);
  expect(placed[2]?.past).toEqual([1]);
  expect(placed[3]?.from).toEqual([0, 1]);
  expect(placed.map(below)).toEqual([[0], [0, 1], [1, 0], []]);
  expect(width(placed)).toBe(2);
});

test("a lane is used again once its line has ended", () => {
  const placed = lanes([
    { id: "b", parent: null },
    { id: "a", parent: null },
  ]);
  expect(placed.map(({ lane }) => lane)).toEqual([0, 0]);
});

test("nothing has one empty lane, and an unknown parent keeps its line", () => {
  expect(width(lanes([]))).toBe(1);
  const placed = lanes([
    { id: "b", parent: "far away" },
    { id: "x", parent: null },
  ]);
  expect(placed[1]).toEqual({ lane: 1, from: [], past: [0], goesOn: false });
});
