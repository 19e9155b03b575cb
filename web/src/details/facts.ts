// Facts about a frame or part, as names and values.

import type { Frame, FrameContent, Step } from "../api";
import { count, plural } from "../format/numbers";
import { isMade } from "../messages/sent";

export interface Fact {
  name: string;
  value: string;
  /** Can be copied. */
  copy?: boolean;
}

interface Known {
  id: string;
  frame: Frame | undefined;
  step: Step | undefined;
  content: FrameContent | undefined;
}

/** The most important facts. */
export function fewFacts({ frame, step, id, content }: Known): Fact[] {
  const whole = frame?.id === id ? frame : undefined;
  const weighed = step ?? whole;
  const now = weighed?.tokens ?? content?.tokens;
  const before = weighed?.source_tokens;
  const facts: Fact[] = [];
  if (now !== undefined) {
    const was = before === undefined || before === now ? "" : `; the agent sent ${count(before)}`;
    facts.push({ name: "Tokens", value: `${count(now)}${was}` });
  }
  if (weighed !== undefined && frame?.kind === "turn") {
    const steps = whole === undefined || whole.steps === 0 ? "" : ` in ${plural(whole.steps, "step")}`;
    facts.push({ name: "Messages", value: `${count(weighed.messages)}${steps}` });
  }
  const file = content === undefined ? null : offloadPath(content);
  if (file !== null) facts.push({ name: "File", value: file, copy: true });
  return facts;
}

/** Everything that is known. */
export function allFacts(known: Known): Fact[] {
  const { id, frame, step, content } = known;
  const blocks = content?.messages.flatMap((message) => message.blocks.map((block) => ({ message, block }))) ?? [];
  const kinds = new Map<string, number>();
  for (const { block } of blocks) kinds.set(block.kind, (kinds.get(block.kind) ?? 0) + 1);
  const tools = step?.tools ?? [...new Set((frame?.step_list ?? []).flatMap((one) => one.tools))];
  const calls = blocks.map(({ block }) => block.tool_use_id).filter((call) => call !== null);
  const facts: (Fact | null)[] = [
    { name: "Id", value: id, copy: true },
    frame === undefined ? null : { name: "Kind", value: frame.kind },
    frame === undefined || frame.state.length === 0 ? null : { name: "State", value: frame.state.join(", ") },
    frame === undefined ? null : { name: "Pinned", value: frame.pinned ? "yes" : "no" },
    frame?.pending ? { name: "Pending", value: "the agent has not sent this reply back yet" } : null,
    { name: "Blocks", value: [...kinds].map(([kind, number]) => `${number} ${kind}`).join(", ") },
    tools.length === 0 ? null : { name: "Tools", value: tools.join(", ") },
    { name: "By edits", value: plural(blocks.filter(({ message, block }) => isMade(message, block)).length, "block") },
    { name: "Not sent", value: plural(blocks.filter(({ block }) => block.covered || block.repaired).length, "block") },
    calls.length === 0 ? null : { name: "Calls", value: [...new Set(calls)].slice(0, 20).join(", "), copy: true },
    content === undefined ? null : { name: "Conversation", value: content.conversation, copy: true },
  ];
  return [...fewFacts(known), ...facts.filter((fact) => fact !== null).filter(({ value }) => value !== "")];
}

/** The file with offloaded content, from the note that the model reads. */
export function offloadPath(content: FrameContent): string | null {
  if (!content.state.includes("offloaded")) return null;
  for (const { made, blocks } of content.messages) {
    if (!made) continue;
    for (const { text } of blocks) {
      const found = /The full content is in (.+?); read that file/.exec(text.slice(0, 20_000));
      if (found?.[1] !== undefined) return found[1];
    }
  }
  return null;
}
