// The order of the conversation list: sub-agents below the conversation that started them.

import type { Conversation } from "../api";

export interface Entry {
  conversation: Conversation;
  depth: number;
}

/** Keeps the daemon's order (newest activity first) among siblings; an unknown parent is no parent. */
export function asTree(conversations: Conversation[]): Entry[] {
  const known = new Set(conversations.map(({ id }) => id));
  const children = new Map<string | null, Conversation[]>();
  for (const conversation of conversations) {
    const parent = conversation.parent !== null && known.has(conversation.parent) ? conversation.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), conversation]);
  }
  const entries: Entry[] = [];
  const placed = new Set<string>();
  const place = (conversation: Conversation, depth: number) => {
    if (placed.has(conversation.id)) return;
    placed.add(conversation.id);
    entries.push({ conversation, depth });
    for (const child of children.get(conversation.id) ?? []) place(child, depth + 1);
  };
  for (const conversation of children.get(null) ?? []) place(conversation, 0);
  // Parents that refer to each other in a circle must stay reachable.
  for (const conversation of conversations) place(conversation, 0);
  return entries;
}

/** Excludes titles, probes and summaries, which users do not look for. */
export function shownByDefault({ class: of }: Pick<Conversation, "class">): boolean {
  return of === "main" || of === "subagent";
}

/** Every word must occur in the title, the folder, the model, the client or the id. */
export function matching(conversations: Conversation[], words: string): Conversation[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return conversations;
  return conversations.filter(({ title, folder, model, client, id, session }) => {
    const text = [title, folder, model, client, id, session].join(" ").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
