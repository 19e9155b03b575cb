// The content of a form's targets, read from the messages: texts, results, possible cuts.

import type { Block, FrameContent, Message } from "../../api";
import { scopeOf } from "../targets";

/** Whether it is sent now. */
export function isSent(block: Block): boolean {
  return block.covered == null && block.repaired == null;
}

/** The text of an item, without calls, results and thinking. */
export function textOf({ messages }: FrameContent): string {
  return messages
    .flatMap(({ blocks }) => blocks)
    .filter((block) => isSent(block) && !["thinking", "tool_use", "tool_result", "reminder"].includes(block.kind))
    .map(({ text }) => text)
    .join("\n\n");
}

/** The JSON of an item as sent, for editing: a block, a message, or a list of messages. Thinking cannot be edited. */
export function jsonOf(content: FrameContent): string {
  const messages = content.messages
    .map(({ role, blocks }) => ({
      role,
      content: blocks.filter((block) => isSent(block) && block.kind !== "thinking").map(({ raw }) => raw),
    }))
    .filter(({ content }) => content.length > 0);
  const first = messages[0];
  const scope = scopeOf(content.id);
  const value =
    scope === "block" || scope === "tool" || content.id.startsWith("system#")
      ? first?.content[0]
      : scope === "message"
        ? first
        : messages;
  return JSON.stringify(value ?? [], null, 2);
}

export interface Result {
  id: string;
  tool: string;
  line: string;
  tokens: number;
  failed: boolean;
  /** Its content was dropped or summarised already. */
  replaced: boolean;
}

/** The tool results still sent, each once. */
export function resultsOf(contents: readonly FrameContent[]): Result[] {
  const messages = contents.flatMap(({ messages }) => messages);
  const names = new Map<string, string>();
  for (const { kind, tool, tool_use_id } of messages.flatMap(({ blocks }) => blocks)) {
    if (kind === "tool_use" && tool_use_id !== null && tool !== null) names.set(tool_use_id, tool);
  }
  const found = new Map<string, Result>();
  for (const block of messages.flatMap(({ blocks }) => blocks)) {
    if (block.kind !== "tool_result" || !isSent(block)) continue;
    found.set(block.id, {
      id: block.id,
      tool: block.tool ?? names.get(block.tool_use_id ?? "") ?? "Result",
      line: firstLine(block.text),
      tokens: block.tokens,
      failed: block.is_error,
      replaced: block.replaced != null,
    });
  }
  return [...found.values()];
}

export function firstLine(text: string, most = 200): string {
  return text
    .slice(0, most * 4)
    .trim()
    .replace(/\s+/g, " ")
    .slice(0, most);
}

/** `t3#12` → 12. */
export function numberOf({ id }: Message): number {
  return Number(id.split("#")[1] ?? 0);
}

/** The messages before which a frame may be cut: never between a call and its result. */
export function cutsOf(messages: readonly Message[]): Set<number> {
  const cuts = new Set<number>();
  const open = new Set<string>();
  messages.forEach((message, index) => {
    const told = "cut" in message ? message.cut : undefined;
    if (index > 0 && (typeof told === "boolean" ? told : open.size === 0)) cuts.add(numberOf(message));
    for (const { kind, tool_use_id } of message.blocks) {
      if (tool_use_id === null) continue;
      if (kind === "tool_use") open.add(tool_use_id);
      if (kind === "tool_result") open.delete(tool_use_id);
    }
  });
  return cuts;
}

/** Those at the beginning of a step. */
export function stepCutsOf(messages: readonly Message[]): number[] {
  const cuts = cutsOf(messages);
  return messages
    .filter((message, index) => index > 0 && message.step > 0 && message.step !== messages[index - 1]?.step)
    .map(numberOf)
    .filter((number) => cuts.has(number));
}
