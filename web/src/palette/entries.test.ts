import { expect, test } from "vitest";

import { type Choice, grouped } from "./entries";

const choice = (group: string, label: string, more: Partial<Choice> = {}): Choice => ({
  id: `${group} ${label}`,
  group,
  label,
  run: () => undefined,
  ...more,
});

const choices = [
  choice("Do", "Delete", { detail: "The model does not see it any more" }),
  choice("Do", "Compact", { words: "summary" }),
  choice("Go", "History"),
  choice("Frames", "Compare versions"),
];

const labels = (query: string, found: Choice[] = []) =>
  grouped(choices, query, found).map((group) => [group.name, ...group.choices.map(({ label }) => label)]);

test("everything in order while nothing is typed", () => {
  expect(labels("")).toEqual([
    ["Do", "Delete", "Compact"],
    ["Go", "History"],
    ["Frames", "Compare versions"],
  ]);
});

test("the best fit first, by label, by what stands behind it, or by other words", () => {
  expect(labels("comp")).toEqual([
    ["Do", "Compact"],
    ["Frames", "Compare versions"],
  ]);
  expect(labels("model")).toEqual([["Do", "Delete"]]);
  expect(labels("summary")).toEqual([["Do", "Compact"]]);
});

test("what the daemon found stays, and no group is endless", () => {
  const hits = Array.from({ length: 20 }, (_, index) => choice("Text", `hit ${index}`));
  const [text] = grouped(choices, "zzz", hits);
  expect(text?.name).toBe("Text");
  expect(text?.choices.length).toBe(8);
});

test("what cannot be done yet is found by its name only, and says what to do first", () => {
  const later: Choice = { id: "do delete", group: "Not possible yet", label: "Delete", detail: "Select a frame first.", later: true, run: () => undefined };
  const can: Choice = { id: "undo", group: "Anywhere", label: "Undo the newest change", run: () => undefined };
  expect(grouped([later, can], "").map(({ name }) => name)).toEqual(["Anywhere"]);
  expect(grouped([later, can], "dele")[0]?.choices[0]?.detail).toBe("Select a frame first.");
  expect(grouped([later], "frame")).toEqual([]);
});
