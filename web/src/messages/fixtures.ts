// Made-up blocks and messages for tests.

import type { Block, Message } from "../api";

export function block(more: Partial<Block> = {}): Block {
  return {
    id: "t1#0.0",
    kind: "text",
    tokens: 1,
    text: "",
    tool: null,
    tool_use_id: null,
    is_error: false,
    raw: null,
    ...more,
  };
}

export function message(id: string, role: string, blocks: Block[], more: Partial<Message> = {}): Message {
  const tokens = blocks.reduce((sum, one) => sum + one.tokens, 0);
  return { id, role, tokens, step: 0, pending: false, made: false, blocks, ...more };
}
