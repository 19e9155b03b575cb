import { expect, test } from "vitest";
import { callInput, resultContent, withResult } from "./wires";

test("the input of a call is found in every format", () => {
  expect(callInput({ type: "tool_use", input: { path: "/a" } })).toEqual({ path: "/a" });
  expect(callInput({ id: "c", type: "function", function: { name: "f", arguments: '{"path":"/a"}' } })).toEqual({ path: "/a" });
  expect(callInput({ type: "function_call", arguments: '{"path":"/a"}' })).toEqual({ path: "/a" });
  expect(callInput({ type: "custom_tool_call", input: "free text" })).toBe("free text");
  expect(callInput({ functionCall: { name: "f", args: { path: "/a" } } })).toEqual({ path: "/a" });
  expect(callInput({ function_call: { name: "f" } })).toEqual({});
  expect(callInput({ type: "function_call", arguments: "{" })).toBe("{");
  expect(callInput(null)).toBe(null);
});

test("a result keeps the form of its format", () => {
  expect(resultContent({ role: "tool", content: "a" })).toBe("a");
  expect(resultContent({ type: "function_call_output", output: "a" })).toBe("a");
  expect(withResult({ type: "function_call_output", call_id: "c", output: "a" }, "b")).toEqual({
    type: "function_call_output",
    call_id: "c",
    output: "b",
  });
  expect(resultContent({ functionResponse: { name: "f", response: { output: "a" } } })).toBe("a");
  expect(resultContent({ function_response: { name: "f", response: { rows: [1] } } })).toBe('{"rows":[1]}');
  expect(withResult({ functionResponse: { name: "f", response: { output: "a" } } }, "b")).toEqual({
    functionResponse: { name: "f", response: { output: "b" } },
  });
  expect(withResult({ role: "tool", content: [] }, "b")).toEqual({ role: "tool", content: "b" });
});
