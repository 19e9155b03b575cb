// The language of code, by fence or file name.

/** By ending or fence word; the names are those of highlight.ts. */
const NAMES: Record<string, string> = {
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  jsx: "javascript",
  javascript: "javascript",
  node: "javascript",
  ts: "typescript",
  tsx: "typescript",
  mts: "typescript",
  typescript: "typescript",
  json: "json",
  jsonc: "json",
  json5: "json",
  jsonl: "json",
  rs: "rust",
  rust: "rust",
  py: "python",
  pyi: "python",
  python: "python",
  sh: "shell",
  bash: "shell",
  zsh: "shell",
  shell: "shell",
  console: "shell",
  go: "go",
  c: "c",
  h: "c",
  cc: "cpp",
  cpp: "cpp",
  cxx: "cpp",
  hpp: "cpp",
  java: "java",
  kt: "kotlin",
  kotlin: "kotlin",
  cs: "csharp",
  csharp: "csharp",
  scala: "scala",
  rb: "ruby",
  ruby: "ruby",
  swift: "swift",
  lua: "lua",
  css: "css",
  scss: "css",
  html: "html",
  xml: "xml",
  svg: "xml",
  toml: "toml",
  lock: "toml",
  yaml: "yaml",
  yml: "yaml",
  sql: "sql",
  dockerfile: "dockerfile",
  diff: "diff",
  patch: "diff",
  md: "markdown",
  markdown: "markdown",
};

/** The language of a fence: "ts title=a.ts" → "typescript". */
export function fenceLanguage(words: string | undefined): string | null {
  const [word = ""] = (words ?? "").trim().toLowerCase().split(/[\s,{:]/, 1);
  return named(word);
}

/** The language of a file, by its name. */
export function fileLanguage(path: string | null): string | null {
  if (path === null) return null;
  const name = path.split(/[/\\]/).at(-1)?.toLowerCase() ?? "";
  return named(name.includes(".") ? (name.split(".").at(-1) ?? "") : name);
}

function named(word: string): string | null {
  return Object.hasOwn(NAMES, word) ? (NAMES[word] ?? null) : null;
}
