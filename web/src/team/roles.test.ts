import { expect, test } from "vitest";

import { listed, sectionsFor } from "./roles";

const names = (role: string) => sectionsFor({ role }).map(({ value }) => value);

test("a member sees their own things, an auditor and an admin those of everyone", () => {
  expect(names("member")).toEqual(["keys", "spend", "shares", "notices"]);
  expect(names("auditor")).toEqual(["people", "keys", "spend", "shares", "notices", "audit", "daemons"]);
  expect(names("admin")).toEqual(names("auditor"));
});

test("groups are told apart by commas or spaces, and each counts once", () => {
  expect(listed(" web, core  web")).toEqual(["core", "web"]);
  expect(listed(" , ")).toEqual([]);
});
