import { expect, test } from "vitest";

import type { Frame } from "../api";
import { partName, partsOf } from "./parts";

function frame(id: string, tokens: number, more: Partial<Frame> = {}): Frame {
  return {
    id,
    kind: "turn",
    title: id,
    tokens,
    source_tokens: tokens,
    messages: 1,
    steps: 0,
    state: [],
    pinned: false,
    pending: false,
    step_list: [],
    ...more,
  } as Frame;
}

const step = (id: string, tokens: number, tools: string[]) => ({
  id,
  title: id,
  tokens,
  source_tokens: tokens,
  messages: 1,
  tools,
  state: [],
  by: [],
});

test("the context by kind, the largest first, nothing lost", () => {
  const parts = partsOf({
    frames: [
      frame("system", 300, { kind: "system" }),
      frame("tools", 2000, { kind: "tools" }),
      frame("t1", 1000, { step_list: [step("t1/1", 600, ["Read"]), step("t1/2", 300, [])] } as Partial<Frame>),
      frame("t2", 5000, { step_list: [step("t2/1", 4900, ["Read"]), step("t2/2", 90, ["Read", "Bash"])] } as Partial<Frame>),
      frame("t3", 0, { state: ["deleted"] }),
    ],
  });
  expect(parts.map((part) => [partName(part), part.tokens, part.places.map(({ id }) => id).join()])).toEqual([
    ["Read results", 5500, "t2/1,t1/1"],
    ["Tool definitions", 2000, "tools"],
    ["System prompt", 300, "system"],
    ["Assistant", 300, "t1/2"],
    ["User", 110, "t1,t2"],
    ["several tools results", 90, "t2/2"],
  ]);
  expect(parts.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(8300);
});
