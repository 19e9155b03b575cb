import { expect, test } from "vitest";

import { frame, step } from "../messages/fixtures";
import { align, ascending, origin } from "./align";

const frames = (...ids: string[]) => ids.map((id) => frame(id));
const names = (sent: string[], source: string[]) =>
  align(frames(...sent), frames(...source)).map((pair) => `${pair.sent?.id ?? "-"} ${pair.source?.id ?? "-"}`);

test("the same list is paired frame by frame", () => {
  expect(names(["system", "t1", "t2"], ["system", "t1", "t2"])).toEqual(["system system", "t1 t1", "t2 t2"]);
  expect(names([], [])).toEqual([]);
});

test("an added frame has nothing beside it", () => {
  expect(names(["t1", "a1", "t2"], ["t1", "t2"])).toEqual(["t1 t1", "a1 -", "t2 t2"]);
});

test("a moved frame stands at both of its places", () => {
  expect(names(["t3", "t1", "t2"], ["t1", "t2", "t3"])).toEqual(["t3 -", "t1 t1", "t2 t2", "- t3"]);
  expect(names(["t2", "t3", "t1"], ["t1", "t2", "t3"])).toEqual(["- t1", "t2 t2", "t3 t3", "t1 -"]);
});

test("a frame that is a part of another one now is told on the agent's side", () => {
  expect(names(["t1", "t3"], ["t1", "t2", "t3"])).toEqual(["t1 t1", "- t2", "t3 t3"]);
});

test("parts of a split frame stand beside the whole, each at its steps", () => {
  const steps = (id: string, count: number) =>
    frame(id, { step_list: Array.from({ length: count }, (_, at) => step(`${id}/${at + 1}`)) });
  const pairs = align([steps("t1.1", 2), steps("t1.2", 3), frame("t2")], [steps("t1", 5), frame("t2")]);
  expect(pairs.map(({ sent, source, offset }) => [sent?.id, source?.id, offset])).toEqual([
    ["t1.1", "t1", 0],
    ["t1.2", "t1", 2],
    ["t2", "t2", 0],
  ]);
});

test("a longest run that never goes back", () => {
  expect([...ascending([3, 0, 1, 2])].sort()).toEqual([1, 2, 3]);
  expect([...ascending([-1, 5, -1, 5])].sort()).toEqual([1, 3]);
  expect(ascending([]).size).toBe(0);
  expect(ascending(Array.from({ length: 5000 }, (_, index) => index)).size).toBe(5000);
});

test("where a frame comes from", () => {
  expect([origin("t3"), origin("t3.1"), origin("t3.1.2"), origin("a1")]).toEqual(["t3", "t3", "t3", "a1"]);
});
