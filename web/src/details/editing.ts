// The editable parts of a message: its text, one block, or all of it as JSON.

import type { Block, Message, Operation } from "../api";
import { blockJson, isSent, messageJson } from "../messages/sent";
import { pretty } from "../messages/summaries";

export interface Choice {
  /** The target of the operation. */
  id: string;
  label: string;
  kind: "text" | "json";
  /** As it is now. */
  text: string;
  /** Side effects of the edit. */
  note?: string;
}

const TEXTS = new Set<Block["kind"]>(["text", "reminder", "system", "tool_result"]);

/** The ways to edit a message, the likeliest first. */
export function choices(message: Message): Choice[] {
  const sent = message.blocks.filter(isSent);
  const around = message.role === "tool" || sent.every(({ kind }) => kind === "system" || kind === "tool");
  const single = sent.length === 1 && !around;
  const blocks = sent.flatMap((block, index): Choice[] => {
    const label = named(block, sent, index);
    const id = single && block.kind === "text" ? message.id : block.id;
    if (TEXTS.has(block.kind)) return [{ id, label, kind: "text", text: block.text }];
    if (block.kind === "tool_use" || block.kind === "tool") {
      return [{ id, label: `${label} as JSON`, kind: "json", text: pretty(blockJson(block)) }];
    }
    return [];
  });
  return around ? blocks : [...blocks, wholeMessage(message)];
}

function named(block: Block, all: readonly Block[], index: number): string {
  const alike = all.filter(({ kind }) => kind === block.kind);
  const which = alike.length > 1 ? ` ${all.slice(0, index + 1).filter(({ kind }) => kind === block.kind).length}` : "";
  switch (block.kind) {
    case "tool_result":
      return `Result${block.tool === null ? "" : ` of ${block.tool}`}${which}`;
    case "tool_use":
      return `Call of ${block.tool ?? "a tool"}${which}`;
    case "tool":
      return block.tool ?? `Tool${which}`;
    case "system":
      return `Block${which}`;
    default:
      return `Words${which}`;
  }
}

function wholeMessage(message: Message): Choice {
  const { json, thoughts } = writable(message);
  return {
    id: message.id,
    label: "Message as JSON",
    kind: "json",
    text: pretty(json),
    ...(thoughts ? { note: THOUGHTS } : {}),
  };
}

/** All messages of a frame as JSON. */
export function wholeFrame(id: string, messages: readonly Message[]): Choice {
  const written = messages.map(writable);
  return {
    id,
    label: `All of ${id} as JSON`,
    kind: "json",
    text: pretty(written.map(({ json }) => json)),
    ...(written.some(({ thoughts }) => thoughts) ? { note: THOUGHTS } : {}),
  };
}

const THOUGHTS = "Thinking is signed and cannot be edited, so it is not shown here.";

/** Without thinking, which only the model can write. */
function writable(message: Message): { json: unknown; thoughts: boolean } {
  const sent = message.blocks.filter(isSent);
  const blocks = sent.filter(({ kind }) => kind !== "thinking");
  return { json: messageJson({ ...message, blocks }), thoughts: blocks.length < sent.length };
}

/** The operation for a text; null if it is invalid JSON, empty, or unchanged. */
export function operationOf(choice: Choice, text: string): Operation | null {
  if (text === choice.text || text.trim() === "") return null;
  if (choice.kind === "text") return { op: "edit", id: choice.id, text };
  try {
    return { op: "edit", id: choice.id, raw: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}
