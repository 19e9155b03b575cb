import { expect, test } from "vitest";

import type { Frame, Step } from "../api";
import { suggestions } from "./waste";

function step(id: string, title: string, tokens: number, more: Partial<Step> = {}): Step {
  const [tool = ""] = title.split(" ");
  return {
    id,
    title,
    tokens,
    source_tokens: tokens,
    messages: 2,
    tools: [tool],
    state: [],
    by: [],
    superseded: false,
    ...more,
  };
}

function frames(...steps: Step[]) {
  const frame = { id: "t1", kind: "turn", title: "", pinned: false, step_list: steps } as unknown as Frame;
  return { frames: [frame], tokens: 20_000 };
}

const end = [step("t1/8", "Bash ls", 40), step("t1/9", "Bash pwd", 40)];

test("a read that is out of date need not be large", () => {
  const [first, ...rest] = suggestions(
    frames(
      step("t1/1", "Read a.rs", 900, { superseded: true, superseded_results: ["t1#2.0"], superseded_tokens: 700 }),
      step("t1/2", "Edit a.rs", 50),
      step("t1/3", "Read b.rs", 900),
      ...end,
    ),
  );
  expect(first?.operation).toEqual({ op: "drop-results", ids: ["t1#2.0"] });
  expect(first?.ids).toEqual(["t1/1"]);
  expect(first?.tokens).toBe(700);
  expect(rest).toEqual([]);
});

test("large results of earlier steps, the largest first, the newest steps never", () => {
  const found = suggestions(
    frames(
      step("t1/1", "Bash make", 2000),
      step("t1/2", "Bash test", 5000),
      step("t1/3", "Bash small", 300),
      step("t1/4", "Bash new", 9000),
      step("t1/5", "Bash newest", 9000),
    ),
  );
  expect(found.map(({ ids }) => ids)).toEqual([["t1/2"], ["t1/1"]]);
});

test("what is gone or pinned is not suggested", () => {
  const dropped = step("t1/1", "Bash make", 2000, { state: ["results-dropped"] });
  expect(suggestions(frames(dropped, ...end))).toEqual([]);
  const pinned = frames(step("t1/1", "Bash make", 2000), ...end);
  pinned.frames[0] = { ...(pinned.frames[0] as Frame), pinned: true };
  expect(suggestions(pinned)).toEqual([]);
});

test("tools that nobody called, but only when some were", () => {
  const tools = [
    { id: "tools/Bash", title: "Bash", tokens: 200 },
    { id: "tools/Web", title: "Web", tokens: 700 },
  ];
  expect(suggestions(frames(...end), tools)[0]?.operation).toEqual({ op: "delete", ids: ["tools/Web"] });
  expect(suggestions({ frames: [], tokens: 0 }, tools)).toEqual([]);
});
