import { expect, test } from "vitest";

import { withKey } from "./open";

test("keys that come before the field is there write into it", () => {
  expect([..."docx", "Backspace", "Delete", "s"].reduce(withKey, "compact ")).toBe("compact docs");
});
