import { expect, test } from "vitest";

import { around, marked } from "./useSearch";

const hits = (snippet: string, words: string) =>
  marked(snippet, words).map(({ text, hit }) => (hit ? `[${text}]` : text));

test("the words are marked wherever they occur, in any case", () => {
  expect(hits("The Lexer and the lexer.", "lexer")).toEqual(["The ", "[Lexer]", " and the ", "[lexer]", "."]);
  expect(hits("a b c", "c a")).toEqual(["[a]", " b ", "[c]"]);
});

test("a phrase stays together, and signs mean themselves", () => {
  expect(hits("fix it now, it", '"it now"')).toEqual(["fix ", "[it now]", ", it"]);
  expect(hits("a.b a+b", "a+b")).toEqual(["a.b ", "[a+b]"]);
  expect(hits("plain", " ")).toEqual(["plain"]);
});

test("a snippet is cut to begin shortly before the hit", () => {
  const snippet = "src/lib.rs, 2 files changed, 46 insertions(+), 3 deletions(-)";
  expect(around(snippet, "dele")).toMatch(/^….{4,24}deletions/);
  expect(around("delete it", "dele")).toBe("delete it");
  expect(around(snippet, "absent")).toBe(snippet);
  expect(around(`${"x".repeat(80)}needle`, "needle")).toBe(`…${"x".repeat(24)}needle`);
});
