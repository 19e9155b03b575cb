import { expect, test } from "vitest";

import { folded, type Line, lineDiff } from "./lines";

const signs = { same: " ", gone: "-", new: "+" };
const written = (lines: Line[]) => lines.map(({ kind, text }) => signs[kind] + text);

test("only what differs is marked", () => {
  expect(written(lineDiff("a\nb\nc\n", "a\nB\nc\n"))).toEqual([" a", "-b", "+B", " c"]);
  expect(written(lineDiff("a\nb", "a\nb"))).toEqual([" a", " b"]);
});

test("lines that moved apart are still found", () => {
  expect(written(lineDiff("x\na\nb\ny", "a\nnew\nb\nz"))).toEqual(["-x", " a", "+new", " b", "-y", "+z"]);
});

test("nothing before, nothing after", () => {
  expect(written(lineDiff("", "a\nb"))).toEqual(["+a", "+b"]);
  expect(written(lineDiff("a", ""))).toEqual(["-a"]);
  expect(lineDiff("", "")).toEqual([]);
});

test("huge texts are not matched, but nothing is lost", () => {
  const old = Array.from({ length: 3000 }, (_, index) => `old ${index}`).join("\n");
  const lines = lineDiff(old, "now");
  expect(lines.length).toBe(3001);
  expect(lines.at(-1)).toEqual({ kind: "new", text: "now" });
});

test("unchanged runs are folded, changes keep their neighbours", () => {
  const before = Array.from({ length: 20 }, (_, index) => `${index}`).join("\n");
  const pieces = folded(lineDiff(before, before.replace("\n10\n", "\nten\n")));
  expect(pieces.map((piece) => (piece.kind === "fold" ? piece.lines.length : piece.line.text))).toEqual([
    8,
    "8",
    "9",
    "10",
    "ten",
    "11",
    "12",
    7,
  ]);
});

test("a fold that would hide one or two lines is not worth it", () => {
  const pieces = folded(lineDiff("a\nb\nc\nd", "a\nb\nc\nD"), 2);
  expect(pieces.every(({ kind }) => kind === "line")).toBe(true);
});
