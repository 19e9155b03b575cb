import { describe, expect, test } from "vitest";

import { caps, GROUPS, heardWhileTyping, type Key, keyNamed, KEYS, type Press, shortcut, written } from "./keys";

const press = (key: string, more: Partial<Press> = {}): Press => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

describe("a press is written", () => {
  test.each([
    [press("k", { ctrlKey: true }), "mod+k"],
    [press("k", { metaKey: true }), "mod+k"],
    [press("Z", { ctrlKey: true, shiftKey: true }), "mod+shift+z"],
    [press("?", { shiftKey: true }), "?"],
    [press("/"), "/"],
    [press("P", { shiftKey: true }), "shift+p"],
    [press(" "), "space"],
    [press("ArrowDown", { shiftKey: true }), "shift+arrowdown"],
    [press("ArrowUp", { altKey: true }), "alt+arrowup"],
  ])("as the table has it", (pressed, expected) => expect(written(pressed)).toBe(expected));
});

test("no two actions want the same key, and every key can be pressed", () => {
  const all: Key[] = Object.values(KEYS);
  const keys = all.flatMap((key) => key.keys);
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of all) {
    expect(GROUPS).toContain(key.group);
    expect(key.words).not.toBe("");
  }
});

test("the browser's and the table's words meet", () => {
  expect(keyNamed(press("k", { ctrlKey: true }))).toBe("palette");
  expect(keyNamed(press("z", { metaKey: true }))).toBe("undo");
  expect(keyNamed(press("F2"))).toBe("retitle");
  expect(keyNamed(press("q"))).toBeNull();
});

test("keys are shown as they are printed on the keyboard", () => {
  expect(caps("mod+shift+z")).toEqual(["Ctrl", "Shift", "Z"]);
  expect(caps("mod+k", true)).toEqual(["⌘", "K"]);
  expect(caps("arrowdown")).toEqual(["↓"]);
  expect(shortcut("palette")).toBe("Ctrl K");
});

test("undo is never taken away from somebody who types", () => {
  expect(heardWhileTyping("undo")).toBe(false);
  expect(heardWhileTyping("palette")).toBe(true);
});
