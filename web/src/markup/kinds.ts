// Detects the kind of a tool's text: JSON, a diff, a file with line numbers, or plain.

import { fileLanguage } from "./languages";
import { numbered } from "./spans";

export type Shape =
  | { kind: "code"; text: string; language: string; numbers: string[] | null }
  | { kind: "diff"; text: string }
  | { kind: "text"; text: string };

/** Longer texts are not analysed. */
const LARGEST = 400_000;

/** The kind of a tool result. `path`: the file that the call names. */
export function shapeOf(text: string, path: string | null = null): Shape {
  if (text.length > LARGEST) return { kind: "text", text };
  if (isDiff(text)) return { kind: "diff", text };
  const json = asJson(text);
  if (json !== null) return { kind: "code", text: json, language: "json", numbers: null };
  const file = numbered(text);
  if (file !== null) {
    return { kind: "code", text: file.code, language: fileLanguage(path) ?? "", numbers: file.numbers };
  }
  return { kind: "text", text };
}

export function isDiff(text: string): boolean {
  return /^(diff --git |Index: |--- .*\n\+\+\+ )/m.test(text.slice(0, 4000)) && /^@@ .*@@|^(\+|-)(?!\1\1)/m.test(text);
}

/** JSON with a line for each member. Only one line is broken into several; what has lines is left as it is. */
function asJson(text: string): string | null {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed) || !/[\]}]$/.test(trimmed)) return null;
  try {
    const value = JSON.parse(trimmed) as unknown;
    return trimmed.includes("\n") ? trimmed : JSON.stringify(value, null, 2);
  } catch {
    return null;
  }
}

/** A part of a tool's input that reads better by itself than as JSON. */
export interface InputPart {
  label: string;
  shape: Shape;
}

/** The input of a call in parts: commands, files and replacements as such, the rest as JSON. */
export function inputParts(input: unknown): InputPart[] {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return [rest(input)];
  const { ...left } = input as Record<string, unknown>;
  const path = [left.file_path, left.path, left.notebook_path].find((value) => typeof value === "string") ?? null;
  const parts: InputPart[] = [];
  const take = (name: string): string | null => {
    const value = left[name];
    if (typeof value !== "string" || value === "") return null;
    delete left[name];
    return value;
  };
  if (typeof left.old_string === "string" && typeof left.new_string === "string") {
    parts.push({ label: "Replacement", shape: { kind: "diff", text: replacement(left.old_string, left.new_string) } });
    delete left.old_string;
    delete left.new_string;
  }
  const command = take("command");
  if (command !== null) parts.push({ label: "Command", shape: code(command, "shell") });
  const content = path === null ? null : take("content");
  if (content !== null) parts.push({ label: "Content", shape: code(content, fileLanguage(path) ?? "") });
  if (parts.length === 0) return [rest(input)];
  return Object.keys(left).length === 0 ? parts : [rest(left), ...parts];
}

const code = (text: string, language: string): Shape => ({ kind: "code", text, language, numbers: null });

const rest = (value: unknown): InputPart => ({ label: "Input", shape: code(JSON.stringify(value, null, 2) ?? "", "json") });

/** Two texts as a diff: lines that both begin and end with stay, all between them is replaced. */
export function replacement(before: string, after: string): string {
  const [old, next] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < next.length - start && old.at(-1 - end) === next.at(-1 - end)) end += 1;
  const same = (line: string) => ` ${line}`;
  return [
    ...old.slice(0, start).map(same),
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...next.slice(start, next.length - end).map((line) => `+${line}`),
    ...old.slice(old.length - end).map(same),
  ].join("\n");
}
