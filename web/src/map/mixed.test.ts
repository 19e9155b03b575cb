import { expect, test } from "vitest";

import { mixed } from "./mixed";

test("colours are mixed however they are written", () => {
  expect(mixed("#000000", "#ffffff")).toBe("rgb(64 64 64)");
  expect(mixed("#000000", "#fff")).toBe("rgb(64 64 64)");
  expect(mixed("#f08c00", "#1a1d23")).toBe("rgb(187 112 9)");
});
