import { expect, test } from "vitest";

import { movedWords } from "./moved";

test("a moved conversation names its origin and counts the edits", () => {
  const moved = { conversation: "c3f9a1", format: "openai-chat", edits: 1 };
  expect(movedWords(moved)).toBe(
    "This conversation continues c3f9a1, which used another format (openai-chat). 1 edit there does not apply here.",
  );
  expect(movedWords({ ...moved, edits: 2 })).toContain("2 edits there do not apply here.");
});
