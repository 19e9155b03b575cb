// Display names of agents and folders.

const AGENTS: [RegExp, string][] = [
  [/^claude-cli\b|^claude-code\b/i, "Claude Code"],
  [/^codex/i, "Codex"],
  [/^opencode/i, "opencode"],
  [/^gemini-?cli\b/i, "Gemini CLI"],
  [/^qwen(-?code)?\b/i, "Qwen Code"],
  [/^goose\b/i, "goose"],
  [/^pi(\/| |$)/i, "pi"],
  [/^cline\b/i, "Cline"],
  [/^continue\b/i, "Continue"],
  [/^aider\b/i, "aider"],
  [/^crush\b/i, "Crush"],
  [/^anthropic/i, "Anthropic SDK"],
  [/^(async)?openai\b/i, "OpenAI SDK"],
  [/^google-genai/i, "Google Gen AI SDK"],
  [/^litellm\b/i, "LiteLLM"],
];

/** "claude-cli/2.1.0" → "Claude Code"; an unknown one by its own word, without the version. */
export function agentName(client: string | null): string | null {
  if (client === null || client.trim() === "") return null;
  return AGENTS.find(([pattern]) => pattern.test(client))?.[1] ?? client.split(/[/ ]/)[0] ?? null;
}

/** The last part of a path, which is what people call a project. */
export function folderName(folder: string | null): string | null {
  if (folder === null) return null;
  return folder.split(/[/\\]/).filter(Boolean).at(-1) ?? folder;
}
