// The sent and removed parts of a message, and the commits responsible. The daemon lists both: removed content stays in
// the list, and its replacement is beside it.

import type { Block, Message } from "../api";
import { callInput, isRecord, resultContent, withResult } from "./wires";

/** Whether a block reaches the model. */
export function isSent(block: Block): boolean {
  return !block.covered && !block.repaired;
}

/** Whether a block is an edit's and not the agent's. */
export function isMade(message: Message, block: Block): boolean {
  return message.made || (block.replaced != null && (block.kind === "system" || block.kind === "tool"));
}

/** The messages as they are sent. */
export function sentOf(messages: readonly Message[]): Message[] {
  return keep(messages, (_, block) => isSent(block));
}

/** The messages as the agent sent them. */
export function sourceOf(messages: readonly Message[]): Message[] {
  return keep(messages, (message, block) => !isMade(message, block)).map((message) => ({
    ...message,
    blocks: message.blocks.map(original),
  }));
}

function keep(messages: readonly Message[], wanted: (message: Message, block: Block) => boolean): Message[] {
  return messages
    .map((message) => ({ ...message, blocks: message.blocks.filter((block) => wanted(message, block)) }))
    .filter(({ blocks }) => blocks.length > 0);
}

/** A block without its edits: a result with replaced content has its own in `raw`. */
function original(block: Block): Block {
  const { covered: _, repaired: __, replaced, ...rest } = block;
  return replaced != null && block.kind === "tool_result" ? { ...rest, text: resultText(block.raw) } : rest;
}

/** The text of a tool result, as in the request. */
export function resultText(raw: unknown): string {
  const content = resultContent(raw);
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) => {
      if (!isRecord(part)) return "";
      return typeof part.text === "string" ? part.text : `[${String(part.type ?? "?")}]`;
    })
    .join("\n");
}

/** Neighbours removed by the same commit, as one item. */
export interface Gone {
  /** The commit, or null if the provider's rules removed it. */
  by: string | null;
  /** The words of the rules, if rules removed it. */
  rule: string | null;
  messages: Message[];
  tokens: number;
}

export type Place = { kind: "message"; message: Message } | { kind: "gone"; gone: Gone };

/** Messages in the order in which they are read, with the places where something was taken out. */
export function places(messages: readonly Message[]): Place[] {
  const found: Place[] = [];
  for (const message of messages) {
    if (message.blocks.length === 0) found.push({ kind: "message", message });
    for (const run of runs(message.blocks)) {
      const first = run[0];
      if (first === undefined) continue;
      const part = { ...message, blocks: run };
      if (isSent(first)) {
        found.push({ kind: "message", message: part });
        continue;
      }
      const by = first.covered ?? null;
      const rule = by === null ? (first.repaired ?? null) : null;
      const tokens = run.reduce((sum, block) => sum + block.tokens, 0);
      const last = found.at(-1);
      if (last?.kind === "gone" && last.gone.by === by && last.gone.rule === rule) {
        last.gone.messages.push(part);
        last.gone.tokens += tokens;
      } else {
        found.push({ kind: "gone", gone: { by, rule, messages: [part], tokens } });
      }
    }
  }
  return found;
}

/** Neighbouring blocks with the same fate. */
function runs(blocks: readonly Block[]): Block[][] {
  const found: Block[][] = [];
  for (const block of blocks) {
    const last = found.at(-1);
    const before = last?.at(-1);
    const same = before !== undefined && fate(before) === fate(block);
    if (last !== undefined && same) last.push(block);
    else found.push([block]);
  }
  return found;
}

function fate(block: Block): string {
  if (block.covered) return `covered ${block.covered}`;
  return block.repaired ? `repaired ${block.repaired}` : "sent";
}

/** As one text, for comparing and copying: who speaks, then what. */
export function plain(messages: readonly Message[]): string {
  return messages
    .map(({ role, blocks }) => `## ${role}\n\n${blocks.map(blockText).join("\n\n")}\n`)
    .join("\n");
}

function blockText(block: Block): string {
  switch (block.kind) {
    case "tool_use":
      return `→ ${block.tool ?? "call"} ${pretty(callInput(block.raw))}`;
    case "tool_result":
      return `← ${block.tool ?? "result"}${block.is_error ? " failed" : ""}\n${block.text}`;
    case "thinking":
      return `(thinking)\n${block.text}`;
    case "tool":
    case "other":
      return pretty(block.raw);
    case "image":
    case "document":
      return `[${block.kind}]`;
    default:
      return block.text;
  }
}

/** As the JSON of a request. */
export function json(messages: readonly Message[]): unknown {
  return messages.map(messageJson);
}

export function messageJson({ role, other, blocks }: Message): unknown {
  // The system prompt and the tools are lists without a speaker.
  if (role === "system" && blocks.every(({ kind }) => kind === "system")) return blocks.map(({ raw }) => raw);
  if (role === "tool") return blocks.map(({ raw }) => raw);
  return { role, content: blocks.map(blockJson), ...other };
}

/** A block as it is sent: a replaced result has new content around the old call. */
export function blockJson(block: Block): unknown {
  if (block.replaced != null && block.kind === "tool_result" && isRecord(block.raw)) {
    return withResult(block.raw, block.text);
  }
  return block.raw;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}
