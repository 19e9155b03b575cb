import { expect, test } from "vitest";

import { formatRoute, parseRoute } from "./route";

test("an address without a choice follows the active conversation", () => {
  const start = { conversation: "active", view: "frames", open: null };
  expect(parseRoute("")).toEqual(start);
  expect(parseRoute("#/")).toEqual(start);
  expect(parseRoute("#/active/nonsense")).toEqual(start);
});

test("every route survives the way through the address", () => {
  for (const open of [null, "t3", "t3/5..9", "t3#2.1", "tools/Bash", "100%"]) {
    const route = { conversation: "c3f9a1", view: "timeline" as const, open };
    expect(parseRoute(formatRoute(route))).toEqual(route);
  }
});

test("a broken escape in the address is taken as it is", () => {
  expect(parseRoute("#/c1/frames/%E0%A4%A").open).toBe("%E0%A4%A");
});
