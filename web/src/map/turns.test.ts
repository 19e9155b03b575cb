import { expect, test } from "vitest";

import type { TimelineEvent } from "../api";
import { stacked, totals, type Turn, turnsOf } from "./turns";

const turn = (request: number, at: number, money: number | null = null): Turn => ({
  request,
  at,
  model: "m",
  frame: "t1",
  input: 1,
  cache_read: 10 * request,
  cache_write: 5,
  output: 2,
  context: 10 * request + 6,
  money,
  priced_as: null,
});
const commit = (at: number) =>
  ({ kind: "commit", seq: at, at, id: "c", summary: "delete t3" }) as unknown as TimelineEvent;

test("commits stand between the requests", () => {
  const { commits } = turnsOf([turn(1, 10), turn(2, 20)], [commit(15), commit(30)]);
  expect(commits.map(({ before }) => before)).toEqual([1, 2]);
});

test("what the cache missed is known by the place of its request", () => {
  const miss = (request: number) => ({ request, at: 0, tokens: 900, words: "It had gone cold.", place: null });
  const { missed } = turnsOf([turn(4, 10), turn(5, 20)], [], [miss(5), miss(1)]);
  expect([...missed]).toEqual([[1, "It had gone cold."]]);
});

test("each bar stands in front of a higher one", () => {
  expect(stacked([turn(1, 1), turn(2, 2)])).toEqual({ x: [1, 2], read: [10, 20], written: [15, 25], whole: [16, 26] });
});

test("totals know the money only where a price is known", () => {
  expect(totals([])).toEqual({ requests: 0, read: 0, cached: 0, money: null, nearest: false });
  const sums = totals([turn(1, 1, 0.5), turn(2, 2)]);
  expect(sums).toMatchObject({ requests: 2, read: 42, money: 0.5 });
  expect(sums.cached).toBeCloseTo(30 / 42);
});
