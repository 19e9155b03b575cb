import { expect, test } from "vitest";

import type { FrameContent } from "../api";
import { block, frame, message, step } from "../messages/fixtures";
import { allFacts, fewFacts, offloadPath } from "./facts";

function content(messages: FrameContent["messages"], state: string[] = []): FrameContent {
  const about = { conversation: "c1", id: "t1", kind: "turn", title: "T", tokens: 10, calibrated: true };
  return { ...about, state, by: [], messages };
}

const note =
  "[Offloaded to a file to save context: Fix (113 tokens)]\n" +
  "The full content is in /home/me/a b.md; read that file if you need it.";

test("the file of an offloaded frame is found in the note, and nowhere else", () => {
  const ours = message("t1#0", "user", [block({ text: note })], { made: true });
  const theirs = message("t1#0", "user", [block({ text: note })]);
  expect(offloadPath(content([ours], ["offloaded"]))).toBe("/home/me/a b.md");
  expect(offloadPath(content([theirs], ["offloaded"]))).toBeNull();
  expect(offloadPath(content([ours]))).toBeNull();
});

test("few facts say what it weighs now and before", () => {
  const known = {
    id: "t1",
    frame: frame("t1", { tokens: 1200, source_tokens: 4500, messages: 5, steps: 2 }),
    step: undefined,
    content: undefined,
  };
  expect(fewFacts(known)).toEqual([
    { name: "Tokens", value: "1,200; the agent sent 4,500" },
    { name: "Messages", value: "5 in 2 steps" },
  ]);
});

test("a step has its own figures", () => {
  const one = step("t1/1", { tokens: 7, source_tokens: 7, messages: 2 });
  expect(fewFacts({ id: "t1/1", frame: frame("t1"), step: one, content: undefined })).toEqual([
    { name: "Tokens", value: "7" },
    { name: "Messages", value: "2" },
  ]);
});

test("all facts leave out what says nothing", () => {
  const shown = content([message("t1#0", "user", [block({ covered: "c9" }), block({ kind: "image" })])]);
  const names = allFacts({ id: "t1", frame: frame("t1"), step: undefined, content: shown });
  expect(names.map(({ name }) => name)).toEqual([
    "Tokens",
    "Messages",
    "Id",
    "Kind",
    "Pinned",
    "Blocks",
    "By edits",
    "Not sent",
    "Conversation",
  ]);
  expect(names.find(({ name }) => name === "Blocks")?.value).toBe("1 text, 1 image");
});
