import { expect, test } from "vitest";

import type { Frame } from "../api";
import { type ContextMap, partName, partsOf } from "./parts";

const step = (id: string, title: string, tokens: number, tools: string[]) => ({ id, title, tokens, tools });
const frames = [
  { id: "system", title: "System prompt" },
  {
    id: "t1",
    title: "Fix it",
    step_list: [step("t1/1", "Read a.rs", 300, ["Read"]), step("t1/2", "Read b.rs", 100, ["Read"])],
  },
  { id: "t2", title: "Thanks", step_list: [] },
] as unknown as Frame[];

const kind = (of: string, tool: string | null, ...shares: [string, number][]): ContextMap["kinds"][number] => ({
  kind: of,
  tool,
  tokens: shares.reduce((sum, [, tokens]) => sum + tokens, 0),
  count: shares.length,
  frames: shares.map(([id, tokens]) => ({ id, tokens })),
});

const shown = (...kinds: ContextMap["kinds"]) =>
  partsOf({ kinds }, { frames }).map((part) => [
    partName(part),
    part.tokens,
    ...part.places.map(({ id, tokens }) => `${id} ${tokens}`),
  ]);

test("the largest part first, and its largest place first", () => {
  expect(shown(kind("system", null, ["system", 30]), kind("user", null, ["t1", 20], ["t2", 50]))).toEqual([
    ["User", 70, "t2 50", "t1 20"],
    ["System prompt", 30, "system 30"],
  ]);
});

test("results are shared out among the steps that called the tool", () => {
  expect(shown(kind("results", "Read", ["t1", 360], ["t2", 10]))).toEqual([
    ["Read results", 370, "t1/1 270", "t1/2 90", "t2 10"],
  ]);
});

test("definitions are one part with a place for each tool, calls one with a place for each frame", () => {
  expect(
    shown(
      kind("tools", "Read", ["tools", 200]),
      kind("tools", "Bash", ["tools", 300]),
      kind("calls", "Read", ["t1", 5]),
      kind("calls", "Bash", ["t1", 7]),
    ),
  ).toEqual([
    ["Tool definitions", 500, "tools/Bash 300", "tools/Read 200"],
    ["Tool calls", 12, "t1 12"],
  ]);
});
