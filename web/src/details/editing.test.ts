import { expect, test } from "vitest";

import { block, message } from "../messages/fixtures";
import { choices, operationOf, wholeFrame } from "./editing";

const names = (found: ReturnType<typeof choices>) => found.map(({ id, label, kind }) => `${id} ${label} ${kind}`);

test("one text is edited as words first, then as JSON", () => {
  const said = message("t1#0", "user", [block({ id: "t1#0.0", text: "Fix", raw: { type: "text", text: "Fix" } })]);
  expect(names(choices(said))).toEqual(["t1#0 Words text", "t1#0 Message as JSON json"]);
  expect(choices(said)[1]?.text).toContain('"role": "user"');
});

test("a message of several blocks is edited block by block", () => {
  const said = message("t1#1", "assistant", [
    block({ id: "t1#1.0", kind: "thinking", raw: { type: "thinking" } }),
    block({ id: "t1#1.1", text: "I look" }),
    block({ id: "t1#1.2", kind: "tool_use", tool: "Read" }),
    block({ id: "t1#1.3", text: "gone", covered: "c1" }),
  ]);
  expect(names(choices(said))).toEqual([
    "t1#1.1 Words text",
    "t1#1.2 Call of Read as JSON json",
    "t1#1 Message as JSON json",
  ]);
  const whole = choices(said).at(-1);
  expect(whole?.text).not.toContain("thinking");
  expect(whole?.note).toContain("Thinking");
});

test("results, system blocks and tools have names", () => {
  const results = message("t1#2", "user", [
    block({ id: "t1#2.0", kind: "tool_result", tool: "Read" }),
    block({ id: "t1#2.1", kind: "tool_result", tool: "Bash" }),
  ]);
  expect(names(choices(results)).slice(0, 2)).toEqual(["t1#2.0 Result of Read 1 text", "t1#2.1 Result of Bash 2 text"]);
  const system = message("system", "system", [block({ id: "system#0", kind: "system", text: "You are" })]);
  expect(names(choices(system))).toEqual(["system#0 Block text"]);
  const read = block({ id: "tools/Read", kind: "tool", tool: "Read", raw: { name: "Read" } });
  const tools = message("tools", "tool", [read]);
  expect(names(choices(tools))).toEqual(["tools/Read Read as JSON json"]);
});

test("a text becomes an operation only if it says something new", () => {
  const words = { id: "t1#0", label: "Words", kind: "text" as const, text: "a" };
  expect(operationOf(words, "a")).toBeNull();
  expect(operationOf(words, "  ")).toBeNull();
  expect(operationOf(words, "b")).toEqual({ op: "edit", id: "t1#0", text: "b" });
  const json = { ...words, kind: "json" as const, text: "{}" };
  expect(operationOf(json, "{")).toBeNull();
  expect(operationOf(json, '{"role":"user"}')).toEqual({ op: "edit", id: "t1#0", raw: { role: "user" } });
});

test("all of a frame is a list of its messages", () => {
  const said = message("t1#0", "user", [block({ raw: { type: "text", text: "x" } })]);
  expect(JSON.parse(wholeFrame("t1", [said]).text)).toEqual([{ role: "user", content: [{ type: "text", text: "x" }] }]);
});
