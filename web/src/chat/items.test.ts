import { expect, test } from "vitest";

import { block, message } from "../messages/fixtures";
import { type Item, speeches, tellsMore } from "./items";

const call = (id: string) => block({ kind: "tool_use", tool: "Read", tool_use_id: id });
const result = (id: string) => block({ kind: "tool_result", tool_use_id: id });
const kinds = (items: Item[]) => items.map((item) => (item.kind === "block" ? item.block.kind : item.kind));

test("a call and its result are one, and the assistant's", () => {
  const found = speeches([
    message("t1#1", "assistant", [block({ kind: "thinking" }), block(), call("a"), call("b")]),
    message("t1#2", "user", [result("b"), result("a")]),
  ]);
  expect(found.map(({ role, items }) => [role, kinds(items)])).toEqual([
    ["assistant", ["thinking", "text", "call", "call"]],
  ]);
  expect(found[0]?.items.slice(2)).toMatchObject([{ result: { tool_use_id: "a" } }, { result: { tool_use_id: "b" } }]);
});

test("a call without a result, and a result without a call, are shown alone", () => {
  const found = speeches([message("t1#1", "assistant", [call("a")]), message("t1#2", "user", [result("x")])]);
  expect(found.map(({ role, items }) => [role, kinds(items)])).toEqual([
    ["assistant", ["call"]],
    ["user", ["tool_result"]],
  ]);
  expect(found[0]?.items[0]).toMatchObject({ result: null });
});

test("what was taken out stays with who speaks around it", () => {
  const found = speeches([
    message("t1#0", "user", [block({ text: "new" })], { made: true }),
    message("t1#0", "user", [block({ text: "old", covered: "c1" })]),
  ]);
  expect(found.map(({ role, made, items }) => [role, made, kinds(items)])).toEqual([["user", true, ["text", "gone"]]]);
  expect(speeches([message("t1#0", "user", [block({ covered: "c1" })])]).map(({ role }) => role)).toEqual([""]);
});

test("a title is told only if the words do not say it", () => {
  const words = [message("t1#0", "user", [block({ text: "Fix the\n bug in the parser, please" })])];
  expect(tellsMore("Fix the bug in the parser, pl…", words)).toBe(false);
  expect(tellsMore("Parser", [])).toBe(true);
  expect(tellsMore("The great parser fix", words)).toBe(true);
  expect(tellsMore("Fix", [message("t1#0", "user", [block({ text: "Fixed it" })])])).toBe(true);
  const reminded = [message("t1#0", "user", [block({ text: "<system-reminder>x</system-reminder>Fix it" })])];
  expect(tellsMore("Fix it", reminded)).toBe(false);
  expect(tellsMore("", words)).toBe(false);
});
