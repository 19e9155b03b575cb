// Made-up frames, messages and blocks for tests.

import type { Block, Frame, Message, Step } from "../api";

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
  return { id, role, tokens, step: 0, pending: false, made: false, cut: false, blocks, ...more };
}

export function frame(id: string, more: Partial<Frame> = {}): Frame {
  const { step_list = [] } = more;
  return {
    id,
    kind: "turn",
    title: id,
    summary: null,
    tokens: 10,
    source_tokens: 10,
    messages: 1 + (step_list?.length ?? 0) * 2,
    steps: step_list?.length ?? 0,
    state: [],
    pinned: false,
    pending: false,
    by: [],
    step_list,
    ...more,
  };
}

export function step(id: string, more: Partial<Step> = {}): Step {
  return { id, title: id, tokens: 5, source_tokens: 5, messages: 2, tools: [], superseded: false, state: [], by: [], ...more };
}
