import { expect, test } from "vitest";

import { fit, ranked } from "./rank";

const rank = (entries: string[], query: string) => ranked(entries, query, (entry) => entry);

test("without a query everything stays as it is", () => {
  expect(rank(["b", "a"], "  ")).toEqual(["b", "a"]);
});

test("every word must occur, in any order", () => {
  expect(rank(["Drop tool results", "Drop it"], "results drop")).toEqual(["Drop tool results"]);
});

test("the beginning of a word is better than its middle", () => {
  expect(rank(["Undelete", "Please delete", "Delete"], "del")).toEqual(["Delete", "Please delete", "Undelete"]);
});

test("the first letters of the words are enough", () => {
  expect(fit("Summarize tool results", "str")).toBeGreaterThan(0);
  expect(fit("Summarize tool results", "xyz")).toBe(0);
});
