import { expect, test } from "vitest";

import { grow, growingOf, grown } from "./growing";

test("a reply grows piece by piece, and is gone when the message is there", () => {
  grow("c1", 3, "thinking", "Let me");
  grow("c1", 3, "thinking", " see");
  grow("c1", 3, "text", "It is");
  grow("c1", 3, "text", " fixed.");
  expect(growingOf("c1")).toEqual({
    request: 3,
    parts: [
      { kind: "thinking", text: "Let me see" },
      { kind: "text", text: "It is fixed." },
    ],
  });
  grown("c1", 3);
  expect(growingOf("c1")).toBeNull();
});

test("another request begins anew, and the end of an older one does not end it", () => {
  grow("c2", 1, "text", "old");
  grow("c2", 2, "text", "new");
  expect(growingOf("c2")?.parts).toEqual([{ kind: "text", text: "new" }]);
  grown("c2", 1);
  expect(growingOf("c2")).not.toBeNull();
  grown("c2");
  expect(growingOf("c2")).toBeNull();
});
