import { expect, test } from "vitest";

import { highlight } from "./highlight";
import { fenceLanguage, fileLanguage } from "./languages";
import { linesOf } from "./spans";

test("nothing of a text is lost or changed by colouring it", async () => {
  const text = 'fn main() {\n    let s = "x"; // note\n}\n';
  const spans = (await highlight(text, "rust")) ?? [];
  expect(spans.map((span) => span.text).join("")).toBe(text);
  const kindOf = (part: string) => spans.find((span) => span.text === part)?.kind;
  expect([kindOf("fn"), kindOf('"x"'), kindOf("// note")]).toEqual(["keyword", "string", "comment"]);
  expect(linesOf(spans).map((line) => line.map((span) => span.text).join(""))).toEqual(text.split("\n"));
});

test("every language that a file or fence can name is known, or shown without colours", async () => {
  expect(fileLanguage("/a/b.rs")).toBe("rust");
  expect(fileLanguage("Dockerfile")).toBe("dockerfile");
  expect(fileLanguage("constructor")).toBe(null);
  expect(fenceLanguage("ts title=a.ts")).toBe("typescript");
  expect(fenceLanguage(undefined)).toBe(null);
  expect(await highlight("x", "klingon")).toBe(null);
  expect(await highlight("x", "constructor")).toBe(null);
  for (const language of ["json", "python", "shell", "yaml", "toml", "go", "html", "sql", "css", "cpp"]) {
    expect((await highlight("a = 1", language))?.map(({ text }) => text).join("")).toBe("a = 1");
  }
});
