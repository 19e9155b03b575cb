// One line for a folded block, for the decision whether to open it.

import type { Block, BlockKind, Message } from "../api";
import { callInput, inlinePicture } from "./wires";

export { callInput };

/** The arguments that best describe a call, the best first. */
const TELLING = [
  "command",
  "file_path",
  "notebook_path",
  "pattern",
  "query",
  "path",
  "url",
  "description",
  "prompt",
  "skill",
] as const;

/** "src/main.rs" for a Read, the command for a Bash; empty if unknown. */
export function callSummary(raw: unknown): string {
  const input = callInput(raw);
  if (typeof input === "string" && input !== raw) return firstLine(input);
  for (const name of TELLING) {
    const value = field(input, name);
    if (typeof value === "string" && value.trim() !== "") return firstLine(value);
  }
  const strings = isRecord(input) ? Object.values(input).filter((value) => typeof value === "string") : [];
  return firstLine(strings[0] ?? "");
}

/** The name of a result's tool; the result itself names only its call. */
export interface ToolCall {
  tool: string;
  /** The file that the call names. */
  path: string | null;
}

export type ToolCalls = ReadonlyMap<string, ToolCall>;

export function toolCalls(messages: Message[]): ToolCalls {
  const calls = new Map<string, ToolCall>();
  for (const { kind, tool, tool_use_id, raw } of messages.flatMap(({ blocks }) => blocks)) {
    if (kind === "tool_use" && tool !== null && tool_use_id !== null) calls.set(tool_use_id, { tool, path: callPath(raw) });
  }
  return calls;
}

export function callPath(raw: unknown): string | null {
  const input = callInput(raw);
  const path = ["file_path", "filePath", "path", "filepath"].map((name) => field(input, name)).find((path) => path != null);
  return typeof path === "string" ? path : null;
}

/** The name of a folded block. */
export function blockLabel(block: Block, tools: ToolCalls): string {
  const tool = block.tool ?? tools.get(block.tool_use_id ?? "")?.tool ?? null;
  if (block.kind === "tool_result") {
    if (block.is_error) return tool === null ? "Failed result" : `${tool} failed`;
    return tool === null ? LABELS.tool_result : `${tool} result`;
  }
  if (tool !== null && (block.kind === "tool_use" || block.kind === "tool")) return tool;
  return LABELS[block.kind] ?? LABELS.other;
}

const LABELS: Record<BlockKind, string> = {
  text: "Text",
  thinking: "Thinking",
  tool_use: "Call",
  tool_result: "Result",
  image: "Picture",
  document: "Document",
  reminder: "Injected reminder",
  system: "System prompt",
  tool: "Tool",
  other: "Other",
};

/** The size of a text in bytes. */
export function size(text: string): number {
  // Counting exactly is too slow for long texts; only non-ASCII text is larger than its length.
  if (text.length > 1_000_000) return text.length;
  return new TextEncoder().encode(text).length;
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}

/** The first line that says anything, without the marks that injected texts begin with. */
export function firstLine(text: string, length = 140): string {
  const line = text
    .slice(0, 4000)
    .replace(/<\/?[a-z][a-z-]*>/g, " ")
    .split("\n")
    .map((part) => part.replace(/\s+/g, " ").trim())
    .find((part) => part !== "");
  if (line === undefined) return "";
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** A picture inside the block that is safe to show: only the formats that browsers draw and cannot run. */
export function picture(raw: unknown): string | null {
  const image = field(raw, "image_url");
  const url = typeof image === "string" ? image : field(image, "url");
  if (typeof url === "string") return /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/.test(url) ? url : null;
  const source = field(raw, "source");
  const { type, data } = inlinePicture(raw) ?? { type: field(source, "media_type"), data: field(source, "data") };
  if (typeof type !== "string" || typeof data !== "string") return null;
  if (!/^image\/(png|jpeg|gif|webp)$/.test(type) || !/^[A-Za-z0-9+/=\s]+$/.test(data)) return null;
  return `data:${type};base64,${data}`;
}

/** A text too long to lay out at once: its beginning, and how much is missing. */
export function clip(text: string, limit: number): { shown: string; hidden: number } {
  if (text.length <= limit) return { shown: text, hidden: 0 };
  // Never half of a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
  return { shown: text.slice(0, end), hidden: text.length - end };
}

function field(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
