import { expect, test } from "vitest";

import { formatLogin, formatRoute, formatSection, parseLogin, parseRoute, parseSection, SECTIONS } from "./address";

test("an address without a choice follows the active conversation", () => {
  const start = { conversation: "active", view: "frames", open: null, at: null };
  expect(parseRoute("")).toEqual(start);
  expect(parseRoute("#/")).toEqual(start);
  expect(parseRoute("#/active/nonsense")).toEqual(start);
});

test("every route survives the way through the address", () => {
  for (const open of [null, "t3", "t3/5..9", "t3#2.1", "tools/Bash", "100%", "what?"]) {
    for (const at of [null, "source", "3f9a1", "a tag?"]) {
      const route = { conversation: "c3f9a1", view: "history" as const, open, at };
      expect(parseRoute(formatRoute(route))).toEqual(route);
    }
  }
});

test("a broken escape in the address is taken as it is", () => {
  expect(parseRoute("#/c1/frames/%E0%A4%A").open).toBe("%E0%A4%A");
});

test("links to the timeline of old lead to the history", () => {
  expect(parseRoute("#/c1/timeline").view).toBe("history");
});

test("the team's page has addresses that no conversation has", () => {
  for (const section of SECTIONS) {
    expect(parseSection(formatSection(section))).toBe(section);
    expect(parseRoute(formatSection(section)).conversation).toBe("active");
  }
  expect(parseSection("#team")).toBeNull();
  expect(parseSection("#team/nonsense")).toBeNull();
  expect(parseSection("#/team/people")).toBeUndefined();
  expect(parseRoute("#/team/frames").conversation).toBe("team");
});

test("the login of a machine has an address with its code, which no conversation has", () => {
  expect(parseLogin(formatLogin(" BCDF-GHJK "))).toBe("BCDF-GHJK");
  expect(parseLogin(formatLogin("a/b?c"))).toBe("a/b?c");
  for (const hash of ["#login", "#login/", "#login/%20"]) expect(parseLogin(hash)).toBeNull();
  for (const hash of ["", "#/login/frames", "#team/keys", "#logins"]) expect(parseLogin(hash)).toBeUndefined();
  expect(parseRoute("#login/BCDF-GHJK").conversation).toBe("active");
  expect(parseSection("#login/BCDF-GHJK")).toBeUndefined();
});
