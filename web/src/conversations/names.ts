// Display names of agents and folders.

const AGENTS: [RegExp, string][] = [
  [/^claude-cli\b|^claude-code\b/i, "Claude Code"],
  [/^codex/i, "Codex"],
  [/^opencode/i, "opencode"],
  [/^anthropic\/python|^anthropic-sdk|^anthropic/i, "Anthropic SDK"],
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

/** "claude-sonnet-4-5-20250929" → "sonnet 4.5": for narrow places. */
export function modelName(model: string | null): string | null {
  if (model === null) return null;
  const known = /^claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?:-\d{8})?$/.exec(model);
  if (known === null) return model;
  const [, family, major, minor] = known;
  return `${family} ${major}${minor === undefined ? "" : `.${minor}`}`;
}
