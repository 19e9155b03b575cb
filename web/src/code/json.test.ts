import { expect, test } from "vitest";

import { jsonProblem, place } from "./json";

test("what JSON.parse takes is without a problem", () => {
  for (const text of ["{}", " [ ] ", '{"a":[1,-2.5e+3,true,null,"\\u00e9\\n"]}', '"x"', "0", '{"a":{"b":{}}}\n']) {
    expect(() => JSON.parse(text) as unknown).not.toThrow();
    expect(jsonProblem(text)).toBeNull();
  }
});

test("what JSON.parse refuses has a problem, wherever it is cut", () => {
  const whole = '{"role": "user", "content": [{"type": "text", "text": "a\\"b"}, -1.5e3, true, null]}';
  for (let end = 0; end < whole.length; end += 1) {
    const text = whole.slice(0, end);
    expect(jsonProblem(text), text).not.toBeNull();
  }
});

test.each([
  ['{"a": 1\n "b": 2}', "Expected a comma or }", 2, 2],
  ['{"a": 1,\n}', "Remove the comma before }", 2, 1],
  ["[1, 2,]", "Remove the comma before ]", 1, 7],
  ["{a: 1}", "Expected a name in double quotes", 1, 2],
  ["{'a': 1}", "Expected a name in double quotes", 1, 2],
  ["['a']", 'Use straight quotes: "', 1, 2],
  ['{"a" 1}', "Expected a colon", 1, 6],
  ['{"a": tru}', "Expected a value", 1, 7],
  ['["a\nb"]', "Write a line break or tab inside quotes as \\n or \\t", 1, 4],
  ['["a\\x"]', "Unknown escape; write a backslash as \\\\", 1, 4],
  ['["abc', "Unclosed quotes", 1, 2],
  ["[1", "Expected a comma or ]", 1, 3],
  ["", "This is empty", 1, 1],
  ["{} {}", "Unexpected text after the end", 1, 4],
  ["// a", "JSON does not allow comments", 1, 1],
  ["[01]", "Expected a comma or ]", 1, 3],
])("%j: %s", (text, message, line, column) => {
  expect(jsonProblem(text)).toMatchObject({ message, line, column });
});

test("a million brackets are refused, not a full stack", () => {
  expect(jsonProblem("[".repeat(1_000_000))?.message).toBe("Nested too deeply");
});

test("a position is told as people count", () => {
  expect(place("ab\ncd", 0)).toEqual({ line: 1, column: 1 });
  expect(place("ab\ncd", 4)).toEqual({ line: 2, column: 2 });
});
