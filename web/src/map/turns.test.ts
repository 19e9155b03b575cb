import { expect, test } from "vitest";

import type { TimelineEvent } from "../api";
import { stacked, totals, turnsOf } from "./turns";

const both = (seq: number, request: number, of = "main", money?: number) =>
  [
    { kind: "request", seq, at: seq, request, class: of, verdict: "next", changed: 0 },
    {
      kind: "answer",
      seq: seq + 1,
      at: seq + 1,
      request,
      usage: { input: 1, cache_read: 10 * request, cache_write: 5, output: 2 },
      ...(money === undefined ? {} : { money }),
    },
  ] as unknown as TimelineEvent[];
const commit = (seq: number) => ({ kind: "commit", seq, at: seq, id: "c", summary: "delete t3" }) as unknown as TimelineEvent;

test("answered requests in order, with the commits between them", () => {
  const { turns, commits } = turnsOf([...both(1, 1), ...both(3, 2, "auxiliary"), commit(5), ...both(6, 3)]);
  expect(turns.map(({ request }) => request)).toEqual([1, 3]);
  expect(commits).toEqual([{ before: 1, summary: "delete t3" }]);
});

test("areas stand on each other", () => {
  const { turns } = turnsOf([...both(1, 1), ...both(3, 2)]);
  expect(stacked(turns)).toEqual({ x: [1, 2], read: [10, 20], written: [15, 25], whole: [16, 26] });
});

test("totals know the money only where a price is known", () => {
  expect(totals([])).toEqual({ requests: 0, read: 0, cached: 0, money: null });
  const { turns } = turnsOf([...both(1, 1, "main", 0.5), ...both(3, 2)]);
  expect(totals(turns)).toMatchObject({ requests: 2, read: 42, money: 0.5 });
  expect(totals(turns).cached).toBeCloseTo(30 / 42);
});
