import { expect, test } from "vitest";

import { parts, tagLabel } from "./reminders";

const words = (text: string) => ({ kind: "words", tag: "", text });
const injected = (text: string, tag = "system-reminder") => ({ kind: "injected", tag, text });

test("a text without tags is words", () => {
  expect(parts("Fix the bug")).toEqual([words("Fix the bug")]);
  expect(parts("a < b and <b>bold</b>")).toEqual([words("a < b and <b>bold</b>")]);
  expect(parts(" \n")).toEqual([]);
});

test("injected texts are told apart, wherever they stand", () => {
  const text = "<system-reminder>\nOne.\n</system-reminder>\nAnd now?\n<system-reminder>Two.</system-reminder>";
  expect(parts(text)).toEqual([injected("One."), words("And now?"), injected("Two.")]);
  expect(parts("<command-name>/clear</command-name>")).toEqual([injected("/clear", "command-name")]);
});

test("a tag that is never closed hides nothing", () => {
  expect(parts("<system-reminder>said who?")).toEqual([words("<system-reminder>said who?")]);
});

test("a tag inside an injected text belongs to it", () => {
  const text = "<system-reminder>a <command-name>x</command-name> b</system-reminder> c";
  expect(parts(text)).toEqual([injected("a <command-name>x</command-name> b"), words("c")]);
});

test("many opened tags without an end do not take forever", () => {
  const begin = performance.now();
  parts("<system-reminder>".repeat(20_000));
  expect(performance.now() - begin).toBeLessThan(2000);
});

test("injected texts have a name", () => {
  expect(tagLabel("system-reminder")).toBe("Injected reminder");
  expect(tagLabel("local-command-stdout")).toBe("Injected: local command stdout");
});
