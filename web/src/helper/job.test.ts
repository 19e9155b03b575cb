import { expect, test } from "vitest";

import { ApiError, type Job } from "../api";
import { outcome } from "./job";

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

test("a job ends with a commit, with nothing, or with the reason why there is none", () => {
  const applied = { summary: "retitle t1" } as NonNullable<Job["applied"]>;
  expect(outcome(job({ applied }))).toBe(applied);
  expect(outcome(job({ state: "cancelled" }))).toBeNull();
  const error = { code: "helper-slow", message: "Too slow.", hint: "Wait." };
  expect(() => outcome(job({ state: "failed", error }))).toThrow(ApiError);
  expect(() => outcome(job({}))).toThrow("no text");
});
