import { expect, test } from "vitest";

import { ApiError, type Job } from "../api";
import { asTitle, Cancelled, outcome } from "./words";

test("a title is one short line without marks", () => {
  expect(asTitle("Fix the parser.")).toBe("Fix the parser");
  expect(asTitle('\n# "Fix the parser"\nmore')).toBe("Fix the parser");
  expect(asTitle("The parser was fixed. Then the docs.")).toBe("The parser was fixed");
  expect(asTitle("x".repeat(200))).toHaveLength(80);
  expect(asTitle("")).toBe("");
});

const job = (more: Partial<Job>): Job => ({
  job: "h1",
  conversation: "c1",
  state: "done",
  by: "small",
  found: 1,
  wanted: 1,
  started_at: 0,
  ...more,
});

test("a job ends with words, or with the reason why there are none", () => {
  const written = [{ kind: "title" as const, of: "t1", by: "small", text: " Words " }];
  expect(outcome(job({ applied: { written } as NonNullable<Job["applied"]> }))).toBe("Words");
  expect(() => outcome(job({ state: "cancelled" }))).toThrow(Cancelled);
  const error = { code: "helper-slow", message: "Too slow.", hint: "Wait." };
  expect(() => outcome(job({ state: "failed", error }))).toThrow(ApiError);
  expect(() => outcome(job({}))).toThrow("no words");
});
