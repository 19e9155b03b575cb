import { expect, test } from "vitest";

import type { Frame } from "../api";
import { frame, step } from "../messages/fixtures";
import { expected, type Mode, type Row, rows } from "./rows";

function build(mode: Mode, sent: Frame[], source: Frame[] = [], toggled: string[] = []): string[] {
  return rows({ mode, sent, source, toggled: new Set(toggled) }).map(named);
}

function named(row: Row): string {
  if (row.kind === "frame") return `${row.key}${row.foldable ? (row.unfolded ? " v" : " >") : ""}`;
  if (row.kind === "fold") return `(${row.what} ${row.id} ${row.steps} ${row.tokens})`;
  return [row.sent, row.source].map((cell) => (cell === null ? "-" : `${cell.frame}/${cell.step}`)).join(" | ");
}

const three = frame("t1", { step_list: [step("t1/1"), step("t1/2"), step("t1/3")] });

test("a frame is its line, what was asked, and its steps", () => {
  expect(build("sent", [three])).toEqual(["t1", "t1/0 | -", "t1/1 | -", "t1/2 | -", "t1/3 | -"]);
});

test("as the agent believes it is, everything comes from the other list", () => {
  expect(build("agent", [], [frame("t1")])).toEqual(["source t1", "- | t1/0"]);
});

test("the system prompt, the tools and deleted frames are lines until they are opened", () => {
  const sent = [frame("system", { kind: "system" }), frame("t1", { tokens: 0, state: ["deleted"] })];
  expect(build("sent", sent)).toEqual(["system >", "t1 >"]);
  expect(build("sent", sent, [], ["system"])).toEqual(["system v", "system/0 | -", "t1 >"]);
});

test("steps that are gone are one line, and come back when it is opened", () => {
  const gone = { tokens: 0, source_tokens: 40, state: ["compacted"] };
  const long = frame("t1", { step_list: [step("t1/1", gone), step("t1/2", gone), step("t1/3")], state: ["compacted"] });
  expect(build("sent", [long])).toEqual(["t1", "t1/0 | -", "(gone t1/1..2 2 80)", "t1/3 | -"]);
  expect(build("sent", [long], [], ["t1/1 gone"])).toEqual([
    "t1",
    "t1/0 | -",
    "(gone t1/1..2 2 80)",
    "t1/1 | -",
    "t1/2 | -",
    "t1/3 | -",
  ]);
});

test("side by side, what is the same is folded and what differs stands beside each other", () => {
  const edited = frame("t2", {
    state: ["edited"],
    step_list: [step("t2/1"), step("t2/2"), step("t2/3", { state: ["edited"] })],
  });
  const before = frame("t2", { step_list: [step("t2/1"), step("t2/2"), step("t2/3")] });
  expect(build("both", [frame("t1"), edited], [frame("t1"), before])).toEqual([
    "t1 >",
    "t2",
    "t2/0 | t2/0",
    "(same t2/1..2 2 10)",
    "t2/3 | t2/3",
  ]);
});

test("side by side, an added frame has nothing beside it and a moved one is at both places", () => {
  const moved = frame("t2", { state: ["moved"] });
  expect(build("both", [moved, frame("a1", { state: ["added"] }), frame("t1")], [frame("t1"), frame("t2")])).toEqual([
    "t2",
    "t2/0 | -",
    "a1",
    "a1/0 | -",
    "t1 >",
    "source t2",
    "- | t2/0",
  ]);
});

test("side by side, parts of a split frame stand beside their steps of the whole", () => {
  const part = (id: string, count: number) =>
    frame(id, {
      state: ["split"],
      step_list: Array.from({ length: count }, (_, at) => step(`${id}/${at + 1}`, { state: ["x"] })),
    });
  expect(build("both", [part("t1.1", 1), part("t1.2", 2)], [three])).toEqual([
    "t1.1",
    "t1.1/0 | t1/0",
    "t1.1/1 | t1/1",
    "t1.2",
    "t1.2/0 | -",
    "t1.2/1 | t1/2",
    "t1.2/2 | t1/3",
  ]);
});

test("every key is there once", () => {
  const sent = [frame("t2", { state: ["moved"] }), three];
  const all = rows({ mode: "both", sent, source: [three, frame("t2")], toggled: new Set(["t1"]) });
  const keys = all.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
});

test("what was sent at a point of the history is fetched as of then", () => {
  const [, part] = rows({ mode: "sent", sent: [frame("t1")], source: [], at: "abc", toggled: new Set() });
  expect(part).toMatchObject({ sent: { at: "abc" } });
});

test("a row has a height before it is laid out", () => {
  expect(expected(undefined)).toBeGreaterThan(0);
  for (const row of rows({ mode: "sent", sent: [three], source: [], toggled: new Set() })) {
    expect(expected(row)).toBeGreaterThan(20);
  }
});
