import { expect, test } from "vitest";

import type { Block } from "../api";
import { block, message } from "./fixtures";
import { blockLabel, callInput, callSummary, clip, firstLine, picture, size, toolCalls } from "./summaries";

test("a call with free text is told by its first line", () => {
  expect(callSummary({ type: "custom_tool_call", input: "const r = 1;\nmore" })).toBe("const r = 1;");
});

test("a call is summed up by its most telling argument", () => {
  expect(callSummary({ input: { description: "Run tests", command: "cargo test\necho done" } })).toBe("cargo test");
  expect(callSummary({ input: { path: "src", pattern: "fn main" } })).toBe("fn main");
  expect(callSummary({ input: { something: "else" } })).toBe("else");
});

test("a call with odd arguments has no summary and is no failure", () => {
  for (const raw of [null, "text", [], { input: null }, { input: [1] }, { input: { command: 5 } }]) {
    expect(callSummary(raw)).toBe("");
  }
  expect(callInput(null)).toBe(null);
});

test("the first line skips blank lines and the marks of injected text", () => {
  expect(firstLine("\n<system-reminder>\n  The file changed.\n</system-reminder>")).toBe("The file changed.");
  expect(firstLine("")).toBe("");
  expect(firstLine("12\tpub fn main() {")).toBe("12 pub fn main() {");
});

test("a gigantic line is cut without reading all of it", () => {
  expect(firstLine("x".repeat(10_000_000), 20)).toBe(`${"x".repeat(19)}…`);
});

const image = (source: unknown) => ({ type: "image", source });

test("pictures of other formats are shown if they are data", () => {
  const data = "data:image/png;base64,iVBO";
  expect(picture({ type: "image_url", image_url: { url: data } })).toBe(data);
  expect(picture({ type: "input_image", image_url: data })).toBe(data);
  expect(picture({ inlineData: { mimeType: "image/png", data: "iVBO" } })).toBe(data);
  expect(picture({ inlineData: { mimeType: "image/svg+xml", data: "iVBO" } })).toBe(null);
  expect(picture({ type: "image_url", image_url: { url: "https://example.com/a.png" } })).toBe(null);
  expect(picture({ type: "image_url", image_url: { url: "data:image/svg+xml;base64,PHN2Zz4=" } })).toBe(null);
});

test("only pictures that cannot run anything are drawn", () => {
  expect(picture(image({ media_type: "image/png", data: "AAAA" }))).toBe("data:image/png;base64,AAAA");
  expect(picture(image({ media_type: "image/svg+xml", data: "AAAA" }))).toBeNull();
  expect(picture(image({ media_type: "image/png", data: 'AA" onload="x' }))).toBeNull();
  expect(picture(image({ type: "url", url: "https://example.org/a.png" }))).toBeNull();
});

test("a long text is cut between characters, never inside one", () => {
  expect(clip("short", 10)).toEqual({ shown: "short", hidden: 0 });
  expect(clip("ab😀cd", 3)).toEqual({ shown: "ab", hidden: 4 });
});

test("a result is called by the tool of its call, where the call is at hand", () => {
  const call = block({ kind: "tool_use", tool: "Read", tool_use_id: "toolu_1" });
  const tools = toolCalls([message("t1#1", "assistant", [call])]);
  expect(blockLabel(call, tools)).toBe("Read");
  expect(blockLabel(block({ kind: "tool_result", tool_use_id: "toolu_1" }), tools)).toBe("Read result");
  expect(blockLabel(block({ kind: "tool_result", tool_use_id: "toolu_1", is_error: true }), tools)).toBe("Read failed");
  expect(blockLabel(block({ kind: "tool_result", tool_use_id: "toolu_2" }), tools)).toBe("Result");
});

test("a kind of block this page does not know still has a name", () => {
  expect(blockLabel(block({ kind: "hologram" as Block["kind"] }), new Map())).toBe("Other");
});

test("a text is as large as its bytes", () => {
  expect(size("abc")).toBe(3);
  expect(size("ü😀")).toBe(6);
});
