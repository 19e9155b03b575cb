import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { ApiError } from "../api";
import { complain, current, dismiss, tell } from "./toasts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const { id } of current()) dismiss(id);
  vi.useRealTimers();
});

const texts = () => current().map(({ text }) => text);

test("good news goes away by itself, bad news stays", () => {
  tell("Done");
  complain(new ApiError(409, "stale", "Somebody was faster.", "Look again."));
  expect(texts()).toEqual(["Done", "Somebody was faster."]);
  vi.advanceTimersByTime(60_000);
  expect(texts()).toEqual(["Somebody was faster."]);
  expect(current()[0]?.hint).toBe("Look again.");
});

test("the same words twice are one notice, and there are never many", () => {
  for (const words of ["a", "a", "b", "c", "d", "e"]) tell(words);
  expect(texts()).toEqual(["b", "c", "d", "e"]);
});

test("whatever is thrown is told in words", () => {
  complain(new TypeError("Failed to fetch"));
  complain("odd");
  expect(texts()).toEqual(["The daemon does not answer.", "odd"]);
});
