import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { ApiError } from "../api";
import { complain, current, dismiss, settle, tell } from "./toasts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const { id } of current()) dismiss(id);
  vi.useRealTimers();
});

const texts = () => current().map(({ text }) => text);

test("good news goes away by itself, bad news stays", () => {
  tell("Done");
  complain(new ApiError(409, "taken", "There is such a branch.", "Use another name."));
  expect(texts()).toEqual(["Done", "There is such a branch."]);
  vi.advanceTimersByTime(60_000);
  expect(texts()).toEqual(["There is such a branch."]);
  expect(current()[0]?.hint).toBe("Use another name.");
});

test("the same words twice are one notice, and there are never many", () => {
  for (const words of ["a", "a", "b", "c", "d", "e"]) tell(words);
  expect(texts()).toEqual(["b", "c", "d", "e"]);
});

test("whatever is thrown is told in words", () => {
  complain(new TypeError("Failed to fetch"));
  complain("odd");
  expect(texts()).toEqual(["The daemon does not respond.", "odd"]);
});

test("an offer to undo goes once its commit is no longer the newest", () => {
  const undo = { label: "Undo", run: () => undefined };
  tell("Done: delete t1", undo, { conversation: "c1", commit: "k1" });
  tell("Done: elsewhere", undo, { conversation: "c2", commit: "k9" });
  settle("c1", "k1");
  expect(texts()).toEqual(["Done: delete t1", "Done: elsewhere"]);
  settle("c1", "k2");
  expect(texts()).toEqual(["Done: elsewhere"]);
  tell("Done: delete t3", undo, { conversation: "c2", commit: "k10" });
  expect(texts()).toEqual(["Done: delete t3"]);
});

test("remarks give more time to read, a warning stays", () => {
  const remark = (text: string, isWarning = false) => ({ text, isWarning });
  tell("short");
  tell("with a remark", null, null, [remark("a file was written")]);
  tell("with a warning", null, null, [remark("notes are gone", true)]);
  vi.advanceTimersByTime(7000);
  expect(texts()).toEqual(["with a remark", "with a warning"]);
  vi.advanceTimersByTime(60_000);
  expect(texts()).toEqual(["with a warning"]);
  expect(current()[0]?.remarks.map(({ text }) => text)).toEqual(["notes are gone"]);
});
