import { expect, test } from "vitest";

import { excerpt, firstDifference } from "./excerpt";

test("short texts are compared whole", () => {
  expect(excerpt("a", "b", 10)).toEqual({ before: "a", after: "b", skipped: 0, missing: 0 });
});

test("of long texts the part is taken in which they begin to differ, from a line's beginning", () => {
  const same = "the same line\n".repeat(100_000);
  const found = excerpt(`${same}old\n${same}`, `${same}new\n${same}`, 10_000);
  expect(found.before.startsWith("the same line\n")).toBe(true);
  expect(found.before).toContain("\nold\n");
  expect(found.after).toContain("\nnew\n");
  expect(found.before.length).toBeLessThanOrEqual(10_000);
  expect(found.skipped).toBeGreaterThan(1_390_000);
  expect(found.skipped + 10_000 + found.missing).toBe(2_800_004);
});

test("a gigantic line, and one that ends early", () => {
  const line = "x".repeat(1_000_000);
  const found = excerpt(`${line}a`, `${line}b`, 5000);
  expect([found.before.at(-1), found.after.at(-1), found.missing]).toEqual(["a", "b", 0]);
  expect(excerpt(line, "", 5000)).toMatchObject({ after: "", skipped: 0, missing: 995_000 });
});

test("no half characters", () => {
  const found = excerpt("😀".repeat(10_000), "😀".repeat(10_001), 999);
  // Half a character cannot be encoded.
  expect(() => encodeURIComponent(found.before + found.after)).not.toThrow();
});

test("the first difference", () => {
  expect([firstDifference("abc", "abd"), firstDifference("a", "a"), firstDifference("", "a")]).toEqual([2, 1, 0]);
});
