import { expect, test } from "vitest";

import { marked } from "./useSearch";

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
