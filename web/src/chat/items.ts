// The content of one step, grouped by speaker: text, thinking, calls with their results, and places of removed content.

import type { Block, Message } from "../api";
import { parts } from "../messages/reminders";
import { type Gone, places } from "../messages/sent";

export type Item =
  | { kind: "block"; key: string; block: Block; pending: boolean }
  | { kind: "call"; key: string; call: Block; result: Block | null; pending: boolean }
  | { kind: "gone"; key: string; gone: Gone };

/** Neighbours of one speaker. */
export interface Speech {
  key: string;
  role: string;
  /** An edit placed it here. */
  made: boolean;
  items: Item[];
}

export function speeches(messages: readonly Message[]): Speech[] {
  const found = places(messages);
  const results = new Map<string, Block>();
  for (const place of found) {
    if (place.kind !== "message") continue;
    for (const block of place.message.blocks) {
      if (block.kind === "tool_result" && block.tool_use_id !== null) results.set(block.tool_use_id, block);
    }
  }
  const shown = new Set<Block>();
  const speaking: Speech[] = [];
  const say = (role: string, made: boolean, item: Item) => {
    const last = speaking.at(-1);
    if (last !== undefined && last.role === role && last.made === made) last.items.push(item);
    else speaking.push({ key: item.key, role, made, items: [item] });
  };

  found.forEach((place, index) => {
    if (place.kind === "gone") {
      // It belongs to the surrounding speaker; alone, it has none.
      const last = speaking.at(-1);
      const item: Item = { kind: "gone", key: `${index}`, gone: place.gone };
      if (last === undefined) say("", false, item);
      else last.items.push(item);
      return;
    }
    const { message } = place;
    message.blocks.forEach((block, at) => {
      const key = `${index}.${at}`;
      const { pending } = message;
      if (block.kind === "tool_use") {
        const result = results.get(block.tool_use_id ?? "") ?? null;
        if (result !== null) shown.add(result);
        say(message.role, message.made, { kind: "call", key, call: block, result, pending });
      } else if (!shown.has(block)) {
        say(message.role, message.made, { kind: "block", key, block, pending });
      }
    });
  });
  return speaking;
}

/** Whether a frame's title differs from the beginning of its text. */
export function tellsMore(title: string, messages: readonly Message[]): boolean {
  const squeeze = (text: string) => text.replace(/\s+/g, " ").trim();
  const words = squeeze(title.replace(/…$/, "")).slice(0, 40);
  if (words === "") return false;
  const isCut = title.endsWith("…") || words.length === 40;
  const begins = (text: string) =>
    // A title that is only the beginning of a word is another one.
    text.startsWith(words) && (isCut || !/^\p{L}/u.test(text.slice(words.length)));
  const said = messages.flatMap(({ blocks }) => blocks.filter(({ kind }) => kind === "text"));
  return !said.some(({ text }) =>
    parts(text.slice(0, 20_000)).some((part) => part.kind === "words" && begins(squeeze(part.text))),
  );
}
