import { expect, test } from "vitest";

import type { Block, FrameContent, Message } from "../../api";
import { cutsOf, jsonOf, resultsOf, stepCutsOf, textOf } from "./contents";

let next = 0;
function block(kind: Block["kind"], text: string, more: Partial<Block> = {}): Block {
  next += 1;
  return {
    id: `t1#0.${next}`,
    kind,
    tokens: 1,
    text,
    tool: null,
    tool_use_id: null,
    is_error: false,
    raw: { type: kind, text },
    ...more,
  };
}

function message(number: number, role: string, step: number, ...blocks: Block[]): Message {
  return { id: `t1#${number}`, role, tokens: 1, step, pending: false, made: false, blocks } as Message;
}

const messages = [
  message(0, "user", 0, block("text", "Do it"), block("text", "gone", { covered: "c1" })),
  message(1, "assistant", 1, block("thinking", "hm"), block("tool_use", "{}", { tool: "Read", tool_use_id: "a" })),
  message(2, "user", 1, block("tool_result", "one\ntwo", { tool_use_id: "a" })),
  message(3, "assistant", 2, block("tool_use", "{}", { tool: "Bash", tool_use_id: "b" })),
  message(4, "user", 2, block("tool_result", "x", { tool_use_id: "b", is_error: true, replaced: "c2" })),
  message(5, "assistant", 3, block("text", "Done")),
];
const content = { id: "t1", messages } as FrameContent;

test("the text of a frame is what was said in it and is still sent", () => {
  expect(textOf(content)).toBe("Do it\n\nDone");
});

test("the JSON to edit holds no thinking and nothing that is gone", () => {
  const all = JSON.parse(jsonOf(content)) as { role: string; content: unknown[] }[];
  expect(all.map(({ role, content }) => [role, content.length])).toEqual([
    ["user", 1],
    ["assistant", 1],
    ["user", 1],
    ["assistant", 1],
    ["user", 1],
    ["assistant", 1],
  ]);
  expect(JSON.parse(jsonOf({ ...content, id: "t1#5", messages: messages.slice(5) }))).toHaveProperty(
    "role",
    "assistant",
  );
  expect(JSON.parse(jsonOf({ ...content, id: "t1#5.0", messages: messages.slice(5) }))).toEqual({
    type: "text",
    text: "Done",
  });
});

test("results are called by their tools", () => {
  expect(
    resultsOf([content, content]).map(({ tool, line, failed, replaced }) => [tool, line, failed, replaced]),
  ).toEqual([
    ["Read", "one two", false, false],
    ["Bash", "x", true, true],
  ]);
});

test("a call and its result are never cut apart", () => {
  expect([...cutsOf(messages)]).toEqual([1, 3, 5]);
  expect(stepCutsOf(messages)).toEqual([1, 3, 5]);
});
