import { expect, test } from "vitest";

import { alike, type Made, targetsOf, withWhat } from "./operations";

const words = (operation: Made) => [targetsOf(operation).join(), withWhat(operation)];

test("an operation is told with what it was done to, and with what", () => {
  expect(words({ op: "delete", ids: ["t2", "t3"] })).toEqual(["t2,t3", ""]);
  expect(words({ op: "drop-results", ids: [], select: { tool: "Read", larger_than: 900 } })).toEqual([
    "",
    "tool Read · larger than 900",
  ]);
  expect(words({ op: "retitle", id: "t1", title: "Parser" })).toEqual(["t1", "“Parser”"]);
  expect(words({ op: "split", id: "t1", at: [3, 5] })).toEqual(["t1", "before message 3, 5"]);
  expect(words({ op: "split", id: "t1", each_step: true })).toEqual(["t1", "each step"]);
});

test("operations of one kind and for one reason stand together", () => {
  const drop = (id: string): Made => ({ op: "drop-results", ids: [id] });
  const operations: Made[] = [drop("t1"), { op: "delete", ids: ["t2"] }, drop("t3"), drop("t4")];
  const groups = alike({ operations, reasons: ["old", "old", "old", null] });
  expect(groups.map(({ op, reason, operations: made }) => [op, reason, made.flatMap(targetsOf).join()])).toEqual([
    ["drop-results", "old", "t1,t3"],
    ["delete", "old", "t2"],
    ["drop-results", null, "t4"],
  ]);
});

test("long texts are cut, and in one line", () => {
  const [, what = ""] = words({ op: "compact", ids: ["t1"], text: `one\n two ${"x".repeat(500)}` });
  expect(what.startsWith("“one two x")).toBe(true);
  expect(what.length).toBeLessThan(180);
});
