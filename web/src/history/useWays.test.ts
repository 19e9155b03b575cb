import { expect, test } from "vitest";

import type { EditResult } from "../api";
import { inPast, type Step } from "./useWays";

const commits = [{ id: "00000000a1", summary: "delete t3, 1717 tokens less" }];
const applied = (summary: string, before = 10_000, after = 10_000) =>
  ({ summary, tokens_before: before, tokens_after: after }) as EditResult;
const told = (step: Step, ...rest: Parameters<typeof applied>) => inPast(step, applied(...rest), commits);

test("what was done is told by its own words, with what it changed", () => {
  expect(told({ action: "undo" }, "undo 00000000a1", 8000, 9717)).toBe("Undone: delete t3 · 8k → 9.7k tokens");
  expect(told({ action: "redo" }, "redo 00000000a1")).toBe("Redone: delete t3");
  expect(told({ action: "undo" }, "undo 00000000ff")).toBe("Undone");
});

test("names are told, and where one went back to", () => {
  expect(told({ action: "branch", name: "trial", target: "00000000a1" }, "branch trial")).toBe("New branch: trial");
  expect(told({ action: "rollback", target: "source" }, "roll back to source: 00000000a1")).toBe(
    "Rolled back to the agent’s version",
  );
});
