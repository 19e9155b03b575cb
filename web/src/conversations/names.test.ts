import { expect, test } from "vitest";

import { agentName, folderName } from "./names";

test("agents have the names people know", () => {
  expect(agentName("claude-cli/2.1.0")).toBe("Claude Code");
  // What each client sends, or what its system prompt tells.
  const names: [string, string][] = [
    ["codex_exec/0.166.0", "Codex"],
    ["codex-tui/0.166.0", "Codex"],
    ["opencode/1.18.33", "opencode"],
    ["GeminiCLI/0.61.0/gemini-3-pro", "Gemini CLI"],
    ["gemini-cli", "Gemini CLI"],
    ["QwenCode/0.24.4", "Qwen Code"],
    ["qwen", "Qwen Code"],
    ["goose", "goose"],
    ["pi", "pi"],
    ["pi/0.87.1", "pi"],
    ["cline", "Cline"],
    ["continue", "Continue"],
    ["aider", "aider"],
    ["OpenAI/Python", "OpenAI SDK"],
    ["AsyncOpenAI/Python", "OpenAI SDK"],
    ["Anthropic/JS", "Anthropic SDK"],
    ["google-genai-sdk/1.9.0", "Google Gen AI SDK"],
    ["pipeline/1", "pipeline"],
  ];
  for (const [client, name] of names) expect(agentName(client)).toBe(name);
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
