import { expect, test } from "vitest";

import type { Frame, Frames } from "../api";
import { inShort, scopeOf, targetsOf } from "./targets";

test("every kind of id says what it names", () => {
  const scopes = [
    "system",
    "tools",
    "tools/Bash",
    "t3",
    "a1.2",
    "t3.1/4",
    "t3/5..9",
    "t3#2",
    "t3.1#2.0",
    "system#1",
  ].map(scopeOf);
  expect(scopes).toEqual(["system", "tools", "tool", "frame", "frame", "step", "step", "message", "block", "message"]);
});

const step = (id: string, tokens: number, tools: string[] = []) => ({
  id,
  title: `${id} title`,
  tokens,
  source_tokens: tokens,
  messages: 2,
  tools,
  state: tokens > 50 ? ["offloaded"] : [],
});

const frames = {
  frames: [
    {
      id: "t1",
      kind: "turn",
      title: "One",
      tokens: 160,
      state: ["edited"],
      pinned: true,
      step_list: [step("t1/1", 10), step("t1/2", 20), step("t1/3", 100, ["Read"])],
    } as unknown as Frame,
  ],
} as unknown as Frames;

test("a range of steps weighs what its steps weigh, and knows their state", () => {
  expect(targetsOf(["t1/2..3", "t1/1", "t9"], frames)).toMatchObject([
    { id: "t1/2..3", scope: "step", tokens: 120, state: ["offloaded"], calls: true },
    { id: "t1/1", tokens: 10, state: [], calls: false, title: "t1/1 title" },
  ]);
});

test("a long list is shortened", () => {
  expect(inShort(["t1", "t2"])).toBe("t1, t2");
  expect(inShort(["t1", "t2", "t3", "t4", "t5", "t6"])).toBe("t1, t2, t3 and 3 more");
});
