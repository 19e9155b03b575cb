import { expect, test } from "vitest";

import { KEYS } from "../palette/keys";
import { OPERATIONS } from "./operations";
import REGISTRY from "./operations.json";
import type { Scope, Target } from "./targets";

const target = (scope: Scope, more: Partial<Target> = {}): Target => ({
  id: "t1",
  frame: "t1",
  title: "",
  tokens: 1,
  state: [],
  pinned: false,
  calls: true,
  scope,
  ...more,
});

function possible(...targets: Target[]): string[] {
  return OPERATIONS.filter((entry) => entry.refuses(targets) === null).map(({ name }) => name);
}

test("every operation has a key of its own", () => {
  const presses = OPERATIONS.map(({ key }) => KEYS[key].keys[0]);
  expect(new Set(presses).size).toBe(OPERATIONS.length);
});

test("every operation is described by the registry", () => {
  expect(OPERATIONS.map(({ name }) => name).toSorted()).toEqual(REGISTRY.map(({ name }) => name).toSorted());
  expect(OPERATIONS.filter(({ words }) => words === "")).toEqual([]);
  expect(OPERATIONS.map(({ label }) => label)).toContain("Drop results");
});

test("what can be done depends on what is chosen", () => {
  expect(possible()).toEqual(["add", "import"]);
  expect(possible(target("system"))).toEqual(["delete", "edit", "add", "import", "retitle", "pin"]);
  expect(possible(target("step"))).toEqual([
    "delete",
    "compact",
    "offload",
    "drop-results",
    "summarize-results",
    "edit",
    "add",
    "import",
  ]);
  expect(possible(target("frame"), target("frame"))).toContain("combine");
  expect(possible(target("frame"), target("frame"))).not.toContain("split");
  expect(possible(target("frame", { state: ["deleted"] }))).not.toContain("delete");
  expect(possible(target("frame", { state: ["offloaded"] }))).toContain("restore");
  expect(possible(target("frame", { pinned: true }))).toContain("unpin");
});
