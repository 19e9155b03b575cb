import { expect, test } from "vitest";

import type { Frame, Frames, Step } from "../api";
import { choose, withoutCovered } from "./choose";
import { rowsOf, withSteps } from "./rows";
import { byTool, largerThan, olderThan, superseded, toolsOf } from "./rules";

const step = (
  id: string,
  title: string,
  tokens: number,
  tools = [title.split(" ")[0] ?? ""],
  state: string[] = [],
): Step => ({
  id,
  title,
  tokens,
  tools,
  state,
  source_tokens: tokens,
  messages: 2,
  by: [],
  superseded: title.startsWith("Read b.rs"),
  superseded_results: title.startsWith("Read b.rs") ? [`${id}.0`] : [],
});

const frame = (id: string, kind: Frame["kind"], tokens: number, step_list: Step[] = [], state: string[] = []) =>
  ({
    id,
    kind,
    tokens,
    source_tokens: tokens * 2,
    title: id,
    step_list,
    state,
    steps: step_list.length,
  }) as unknown as Frame;

const frames = {
  frames: [
    frame("system", "system", 10),
    frame("t1", "turn", 100, [step("t1/1", "Read a.rs", 60), step("t1/2", "Read b.rs (+1)", 30, ["Read", "Read"])]),
    frame("t2", "turn", 50, [step("t2/1", "Edit a.rs", 5), step("t2/2", "Read b.rs", 20), step("t2/3", "Bash ls", 20)]),
    frame("t3", "turn", 40, [step("t3/1", "Read b.rs", 40)]),
    frame("t4", "turn", 0, [step("t4/1", "Read b.rs", 0, ["Read"], ["deleted"])], ["deleted"]),
  ],
} as unknown as Frames;

test("an unfolded frame is followed by its steps", () => {
  const rows = rowsOf(frames, new Set(["t2"]));
  expect(rows.map(({ id }) => id)).toEqual(["system", "t1", "t2", "t2/1", "t2/2", "t2/3", "t3", "t4"]);
  expect(rows[1]).toMatchObject({ length: 0.5, ghost: 1 });
  expect(rows[3]).toMatchObject({ length: 0.25 });
});

test("frames without their steps keep those that were known; a new frame has none yet", () => {
  const bare = ["t1", "t9"].map((id) => ({ ...frame(id, "turn", 7), step_list: undefined }) as unknown as Frame);
  const [known, fresh] = withSteps({ ...frames, frames: bare }, frames).frames;
  expect(known?.tokens).toBe(7);
  expect(known?.step_list?.map(({ id }) => id)).toEqual(["t1/1", "t1/2"]);
  expect(fresh?.step_list).toBeNull();
});

test("a click chooses one, Ctrl one more or less, Shift a range", () => {
  const order = ["a", "b", "c", "d", "e"];
  const none = { ids: [], from: null };
  const plain = { ctrl: false, shift: false };
  const b = choose(none, "b", plain, order);
  expect(b).toEqual({ ids: ["b"], from: "b" });
  const d = choose(b, "d", { ctrl: false, shift: true }, order);
  expect(d).toEqual({ ids: ["b", "c", "d"], from: "b" });
  expect(choose(d, "a", { ctrl: false, shift: true }, order).ids).toEqual(["a", "b"]);
  expect(choose(d, "c", { ctrl: true, shift: false }, order).ids).toEqual(["b", "d"]);
  expect(choose(d, "a", { ctrl: true, shift: false }, order).ids).toEqual(["a", "b", "c", "d"]);
  expect(choose(none, "c", { ctrl: false, shift: true }, order).ids).toEqual(["c"]);
});

test("a chosen frame stands for its steps", () => {
  expect(withoutCovered(["t1", "t1/1", "t2/1", "tools", "tools/Bash"])).toEqual(["t1", "t2/1", "tools", "tools/Bash"]);
});

test("rules choose what is large, old, or of a tool", () => {
  expect(largerThan(frames, 30)).toEqual(["t1/1", "t3/1"]);
  expect(olderThan(frames, 2)).toEqual(["t1"]);
  expect(byTool(frames, "Bash")).toEqual(["t2/3"]);
  expect(toolsOf(frames).map(({ tool, steps }) => [tool, steps])).toEqual([
    ["Read", 4],
    ["Bash", 1],
    ["Edit", 1],
  ]);
});

test("steps are chosen of which all is superseded and still sent", () => {
  expect(superseded(frames)).toEqual(["t2/2", "t3/1"]);
});
