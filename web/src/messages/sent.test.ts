import { expect, test } from "vitest";

import { block, message } from "./fixtures";
import { json, messageJson, places, plain, resultText, sentOf, sourceOf } from "./sent";

const asked = message("t1#0", "user", [block({ text: "Fix it" })]);
const edited = message("t1#0", "user", [block({ text: "Fix it well" })], { made: true });
const covered = message("t1#0", "user", [block({ text: "Fix it", covered: "c1", tokens: 7 })]);
const answer = message("t1#1", "assistant", [
  block({ kind: "thinking", text: "hm", repaired: "A65", tokens: 3 }),
  block({ text: "Done" }),
]);

test("what is sent and what the agent sent come from one list", () => {
  const shown = [edited, covered, answer];
  expect(sentOf(shown).flatMap(({ blocks }) => blocks.map(({ text }) => text))).toEqual(["Fix it well", "Done"]);
  expect(sourceOf(shown).flatMap(({ blocks }) => blocks.map(({ text }) => text))).toEqual(["Fix it", "hm", "Done"]);
});

test("a result whose content was replaced has its own again in what the agent sent", () => {
  const raw = { type: "tool_result", content: [{ type: "text", text: "long" }, { type: "image" }] };
  const result = message("t1#2", "user", [block({ kind: "tool_result", text: "[gone]", replaced: "c2", raw })]);
  expect(sourceOf([result])[0]?.blocks[0]?.text).toBe("long\n[image]");
  expect(json([result])).toEqual([{ role: "user", content: [{ type: "tool_result", content: "[gone]" }] }]);
});

test("the words of a result, whatever its shape", () => {
  expect(resultText({ content: "a" })).toBe("a");
  expect(resultText({})).toBe("");
  expect(resultText(null)).toBe("");
  expect(resultText({ content: [null, 5] })).toBe("\n");
});

test("neighbours that one commit took out are one place, across messages", () => {
  const second = message("t1#1", "assistant", [block({ covered: "c1", tokens: 5 })]);
  const third = message("t1#2", "user", [block({ covered: "c2", tokens: 1 })]);
  const found = places([asked, covered, second, third, answer]);
  const told = found.map((place) => (place.kind === "gone" ? [place.gone.by, place.gone.tokens] : place.message.id));
  expect(told).toEqual([
    "t1#0",
    ["c1", 12],
    ["c2", 1],
    [null, 3],
    "t1#1",
  ]);
  expect(found.at(-1)).toMatchObject({ message: { blocks: [{ text: "Done" }] } });
});

test("an edited system prompt: the made block is sent, the agent's is not", () => {
  const system = message("system", "system", [
    block({ kind: "system", text: "new", replaced: "c1" }),
    block({ kind: "system", text: "old", covered: "c1" }),
  ]);
  expect(sentOf([system])[0]?.blocks.map(({ text }) => text)).toEqual(["new"]);
  expect(sourceOf([system])[0]?.blocks.map(({ text }) => text)).toEqual(["old"]);
});

test("a message as plain text and as JSON", () => {
  const call = block({ kind: "tool_use", tool: "Read", raw: { type: "tool_use", input: { file_path: "a" } } });
  const result = block({ kind: "tool_result", tool: "Read", text: "1\n2", is_error: true });
  expect(plain([message("t1#1", "assistant", [call]), message("t1#2", "user", [result])])).toBe(
    '## assistant\n\n→ Read {\n  "file_path": "a"\n}\n\n## user\n\n← Read failed\n1\n2\n',
  );
  expect(messageJson(message("t1#1", "assistant", [call], { other: { x: 1 } }))).toEqual({
    role: "assistant",
    content: [call.raw],
    x: 1,
  });
});
