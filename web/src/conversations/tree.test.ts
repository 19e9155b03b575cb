import { expect, test } from "vitest";

import type { Conversation } from "../api";
import { asTree, matching } from "./tree";

function conversation(id: string, parent: string | null = null, title = id): Conversation {
  return {
    id,
    parent,
    title,
    active: false,
    class: parent === null ? "main" : "subagent",
    model: "claude-opus-5-5",
    client: null,
    session: null,
    folder: null,
    agent: null,
    forked_from: null,
    frames: 0,
    messages: 0,
    requests: 0,
    tokens: 0,
    calibrated: false,
    last_activity: 0,
  };
}

const shape = (conversations: Conversation[]) =>
  asTree(conversations).map(({ conversation: { id }, depth }) => `${"-".repeat(depth)}${id}`);

test("sub-agents stand under their parents, in the order of the daemon", () => {
  const list = [
    conversation("agent2", "main1"),
    conversation("main2"),
    conversation("main1"),
    conversation("agent1", "main1"),
  ];
  expect(shape(list)).toEqual(["main2", "main1", "-agent2", "-agent1"]);
});

test("a parent that is not in the list leaves nobody out", () => {
  expect(shape([conversation("orphan", "gone")])).toEqual(["orphan"]);
});

test("parents in a circle are all shown once", () => {
  expect(shape([conversation("a", "b"), conversation("b", "a")])).toEqual(["a", "-b"]);
});

test("every word has to be found somewhere", () => {
  const list = [conversation("c1", null, "Rename the module"), conversation("c2", null, "Mend the parser")];
  expect(matching(list, " the OPUS ").map(({ id }) => id)).toEqual(["c1", "c2"]);
  expect(matching(list, "mend opus").map(({ id }) => id)).toEqual(["c2"]);
  expect(matching(list, "").length).toBe(2);
});
