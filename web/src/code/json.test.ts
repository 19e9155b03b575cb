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
  ['{"a": 1\n "b": 2}', "Here should be a comma or }", 2, 2],
  ['{"a": 1,\n}', "There is a comma before the }", 2, 1],
  ["[1, 2,]", "There is a comma before the ]", 1, 7],
  ["{a: 1}", "Here should be a name between double quotes", 1, 2],
  ["{'a': 1}", "Here should be a name between double quotes", 1, 2],
  ["['a']", 'Quotes are written as "', 1, 2],
  ['{"a" 1}', "Here should be a colon", 1, 6],
  ['{"a": tru}', "Here should be a value", 1, 7],
  ['["a\nb"]', "A line break or tab inside quotes is written \\n or \\t", 1, 4],
  ['["a\\x"]', "No such escape: a backslash itself is written \\\\", 1, 4],
  ['["abc', "These quotes are never closed", 1, 2],
  ["[1", "Here should be a comma or ]", 1, 3],
  ["", "Nothing is written here yet", 1, 1],
  ["{} {}", "There is something behind the end", 1, 4],
  ["// a", "JSON has no comments", 1, 1],
  ["[01]", "Here should be a comma or ]", 1, 3],
])("%j: %s", (text, message, line, column) => {
  expect(jsonProblem(text)).toMatchObject({ message, line, column });
});

test("a million brackets are refused, not a full stack", () => {
  expect(jsonProblem("[".repeat(1_000_000))?.message).toBe("This is nested too deeply");
});

test("a position is told as people count", () => {
  expect(place("ab\ncd", 0)).toEqual({ line: 1, column: 1 });
  expect(place("ab\ncd", 4)).toEqual({ line: 2, column: 2 });
});
