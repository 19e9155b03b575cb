import { expect, test } from "vitest";

import { line, pieces } from "./hidden";

test("ordinary text is one piece, in every script and with line breaks", () => {
  for (const text of ["plain\n\ttext", "שלום עולם", "مرحبا", "👩‍👩‍👧", "ﷺ", ""]) {
    expect(pieces(text)).toEqual([{ text, hidden: false }]);
    expect(line(text)).toBe(text);
  }
});

test("signs that turn text around are named in their place", () => {
  expect(pieces("if (user != \u202e\u2066admin\u2069\u202c)")).toEqual([
    { text: "if (user != ", hidden: false },
    { text: "RLO LRI", hidden: true },
    { text: "admin", hidden: false },
    { text: "PDI PDF", hidden: true },
    { text: ")", hidden: false },
  ]);
  expect(line("a\u202eb")).toBe("a‹RLO›b");
});

test("what a terminal would obey is shown", () => {
  expect(line("\u001b[31mred\u001b[0m\u0085")).toBe("‹ESC›[31mred‹ESC›[0m‹U+0085›");
});

test("a thousand of them are one piece", () => {
  const [only, ...rest] = pieces("\u200b".repeat(1000));
  expect(rest).toEqual([]);
  expect(only?.text).toMatch(/ZWSP and 992 more$/);
});
