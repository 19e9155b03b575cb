import { expect, test } from "vitest";

import { inRules } from "./rules";

const rules = (sentence: string) => inRules(sentence).flatMap(({ text, rule }) => (rule ? [text] : []));

test("numbers of rules are found where a sentence names one, and nothing is lost", () => {
  expect(rules("10 thinking blocks are left out (A65).")).toEqual(["A65"]);
  expect(rules("rule A30 (a result needs its call) and rule E")).toEqual(["A30", "E"]);
  const sentence = "See rule A9, then (B12; more).";
  expect(inRules(sentence).map(({ text }) => text).join("")).toBe(sentence);
  expect(rules(sentence)).toEqual(["A9", "B12"]);
});

test("what only looks like a number of a rule is text", () => {
  expect(rules("A4 paper, the rules, A65 alone, (Abc)")).toEqual([]);
});
