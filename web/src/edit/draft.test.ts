import { expect, test } from "vitest";

import type { OperationName } from "../api";
import { asked, type Values } from "./draft";

function ask(name: OperationName, values: Values = {}, targets = ["t2"]) {
  return asked({ name, targets, values, anchor: null, head: "none" });
}

test("what is complete becomes operations", () => {
  const one = (operation: object) => ({ operations: [operation] });
  expect(ask("delete", {}, ["t1", "t2/3"])).toEqual(one({ op: "delete", ids: ["t1", "t2/3"] }));
  expect(ask("delete", { force: true })).toEqual(one({ op: "delete", ids: ["t2"], force: true }));
  expect(ask("edit", { text: " kept as it is\n" })).toEqual(one({ op: "edit", id: "t2", text: " kept as it is\n" }));
  expect(ask("edit", { mode: "json", json: '[{"role":"user"}]' })).toEqual(
    one({ op: "edit", id: "t2", raw: [{ role: "user" }] }),
  );
  expect(ask("compact", { text: " short " })).toEqual(one({ op: "compact", ids: ["t2"], text: "short" }));
  expect(ask("offload", { text: "" })).toEqual(one({ op: "offload", ids: ["t2"] }));
  expect(ask("move", { to: { start: true } })).toEqual(one({ op: "move", ids: ["t2"], to: { start: true } }));
  expect(ask("add", { text: "Hi" })).toEqual(one({ op: "add", text: "Hi", role: "user", to: { end: true } }));
  expect(ask("combine", {}, ["t1", "t2"])).toEqual(one({ op: "combine", ids: ["t1", "t2"] }));
  expect(ask("split", { cuts: [5, 2] })).toEqual(one({ op: "split", id: "t2", at: [2, 5] }));
  expect(ask("drop-results", { results: ["t2#2.0"] })).toEqual(one({ op: "drop-results", ids: ["t2#2.0"] }));
  const every = ["t2#2.0", "t2#2.1"];
  expect(ask("drop-results", { results: ["t2#2.1"], every })).toEqual(one({ op: "drop-results", ids: ["t2#2.1"] }));
  expect(ask("drop-results", { results: every, every })).toEqual(one({ op: "drop-results", ids: ["t2"] }));
  expect(ask("retitle", { title: "New" })).toEqual(one({ op: "retitle", id: "t2", title: "New" }));
  expect(ask("import", { from: "c1", frames: ["t4"], to: { after: "t2" } })).toEqual(
    one({ op: "import", from: "c1", ids: ["t4"], to: { after: "t2" } }),
  );
});

test("each summary of a result is an operation of its own", () => {
  expect(ask("summarize-results", { results: ["t2#2.0", "t2#4.0"], words: { "t2#2.0": "a", "t2#4.0": "b" } })).toEqual({
    operations: [
      { op: "summarize-results", ids: ["t2#2.0"], text: "a" },
      { op: "summarize-results", ids: ["t2#4.0"], text: "b" },
    ],
  });
});

test("what is not complete says what it lacks", () => {
  const lacking: [OperationName, Values][] = [
    ["edit", { text: " " }],
    ["edit", { mode: "json", json: "{" }],
    ["compact", {}],
    ["move", {}],
    ["add", { text: "" }],
    ["split", { cuts: [] }],
    ["drop-results", {}],
    ["summarize-results", { results: ["t2#2.0"] }],
    ["retitle", { title: " " }],
    ["import", { from: "c1" }],
  ];
  for (const [name, values] of lacking) expect(ask(name, values), name).toHaveProperty("lacks");
});
