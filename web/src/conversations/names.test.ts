import { expect, test } from "vitest";

import { agentName, folderName, modelName } from "./names";

test("agents have the names people know", () => {
  expect(agentName("claude-cli/2.1.0")).toBe("Claude Code");
  expect(agentName("my-agent/3 (linux)")).toBe("my-agent");
  expect(agentName("")).toBeNull();
  expect(agentName(null)).toBeNull();
});

test("a project is the last part of its path", () => {
  expect(folderName("/home/me/projects/parser")).toBe("parser");
  expect(folderName("C:\\work\\site\\")).toBe("site");
  expect(folderName("/")).toBe("/");
  expect(folderName(null)).toBeNull();
});

test("models without their date", () => {
  expect(modelName("claude-sonnet-4-5-20250929")).toBe("sonnet 4.5");
  expect(modelName("claude-opus-4-20250514")).toBe("opus 4");
  expect(modelName("gpt-9")).toBe("gpt-9");
});
