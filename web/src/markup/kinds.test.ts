import { expect, test } from "vitest";

import { inputParts, isDiff, replacement, shapeOf } from "./kinds";

test("a file with line numbers is code of the file's language, its numbers apart", () => {
  const shape = shapeOf("     1\tfn main() {\n     2\t    run();\n     3\t}\n", "src/main.rs");
  expect(shape).toEqual({ kind: "code", language: "rust", text: "fn main() {\n    run();\n}\n", numbers: ["1", "2", "3", ""] });
  expect(shapeOf("1→let a;", "a.ts")).toMatchObject({ language: "typescript", text: "let a;" });
  expect(shapeOf("10: ten\nbut not the rest\nof these\nlines")).toMatchObject({ kind: "text" });
});

test("JSON in one line is broken into several; what has lines stays as it is", () => {
  expect(shapeOf('{"a":[1,2]}')).toMatchObject({ language: "json", text: '{\n  "a": [\n    1,\n    2\n  ]\n}' });
  expect(shapeOf('{"a":\n 1}')).toMatchObject({ language: "json", text: '{"a":\n 1}' });
  expect(shapeOf("[INFO] started [ok]")).toMatchObject({ kind: "text" });
});

test("a diff is told by its heads, not by any plus or minus", () => {
  expect(isDiff("diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new")).toBe(true);
  expect(isDiff("- one\n- two\n+ three")).toBe(false);
});

test("a replacement keeps what both begin and end with", () => {
  expect(replacement("a\nb\nc", "a\nx\ny\nc")).toBe(" a\n-b\n+x\n+y\n c");
  expect(replacement("same", "same")).toBe(" same");
  expect(replacement("", "new")).toBe("-\n+new");
});

test("commands, contents and replacements of an input stand by themselves, the rest is JSON", () => {
  expect(inputParts({ command: "ls -l" })).toEqual([
    { label: "Command", shape: { kind: "code", text: "ls -l", language: "shell", numbers: null } },
  ]);
  const edit = inputParts({ file_path: "a.py", old_string: "x = 1", new_string: "x = 2" });
  expect(edit.map(({ label }) => label)).toEqual(["Input", "Replacement"]);
  expect(edit[1]?.shape.text).toBe("-x = 1\n+x = 2");
  const write = inputParts({ file_path: "a.py", content: "x = 1" });
  expect(write[1]?.shape).toMatchObject({ language: "python", text: "x = 1" });
  expect(inputParts({ pattern: "x" })[0]?.shape).toMatchObject({ language: "json" });
  expect(inputParts("odd")[0]?.shape.text).toBe('"odd"');
});
