import { expect, test } from "vitest";

import { groupingsFor, named, share, since } from "./spend";

const values = (role: string) => groupingsFor({ role }).map(({ value }) => value);

test("auditors and admins compare people and groups, members only what they did themselves", () => {
  expect(values("admin")).toEqual(["person", "group", "model", "project"]);
  expect(values("auditor")).toEqual(values("admin"));
  expect(values("member")).toEqual(["model", "project"]);
});

test("a period has whole days, today included, and all time has no beginning", () => {
  const noon = Date.UTC(2026, 10, 18, 12);
  expect(since("7", noon)).toBe(Date.UTC(2026, 10, 12));
  expect(since("7", noon + 60_000)).toBe(since("7", noon));
  expect(since("all", noon)).toBeUndefined();
});

test("a row without a name says why, and nothing is a share of nothing", () => {
  expect(named("group", null)).toBe("without a group");
  expect(named("person", "anna")).toBe("anna");
  expect(share(1, 4)).toBe(0.25);
  expect(share(0, 0)).toBe(0);
});
