import { expect, test } from "vitest";

import { forget, growingOf, hear, type StreamingEvent } from "./growing";

function piece(conversation: string, more: Partial<StreamingEvent>): StreamingEvent {
  return {
    kind: "streaming",
    conversation,
    request: 3,
    piece: 0,
    block: 0,
    part: "text",
    tool: null,
    text: "",
    ...more,
  };
}

test("a reply grows piece by piece, block by block, and is forgotten when the message is there", () => {
  hear(piece("c1", { part: "thinking", text: "Let me" }));
  hear(piece("c1", { piece: 1, part: "thinking", text: " see" }));
  hear(piece("c1", { piece: 2, block: 1, text: "It is fixed." }));
  hear(piece("c1", { piece: 3, block: 2, part: "tool", tool: "Read", text: "{" }));
  expect(growingOf("c1")).toMatchObject({
    gaps: false,
    ended: null,
    parts: [
      { part: "thinking", text: "Let me see" },
      { part: "text", text: "It is fixed." },
      { part: "tool", tool: "Read", text: "{" },
    ],
  });
  hear({ kind: "answer", conversation: "c1", request: 3 } as { kind: string });
  expect(growingOf("c1")?.ended).toBeGreaterThan(0);
  forget("c1");
  expect(growingOf("c1")).toBeNull();
});

test("who comes late, or is too slow, is told so", () => {
  hear(piece("c2", { piece: 4, text: "the end" }));
  expect(growingOf("c2")?.gaps).toBe(true);
});

test("another request begins anew, and an older one neither grows nor ends it", () => {
  hear(piece("c3", { text: "old" }));
  hear(piece("c3", { request: 4, text: "new" }));
  hear(piece("c3", { piece: 1, text: " and older" }));
  hear({ kind: "answer", conversation: "c3", request: 3 } as { kind: string });
  expect(growingOf("c3")).toMatchObject({ request: 4, ended: null, parts: [{ text: "new" }] });
});

test("other events change nothing", () => {
  hear({ kind: "request" });
  hear({ kind: "answer" });
  hear({});
  expect(growingOf("c4")).toBeNull();
});
