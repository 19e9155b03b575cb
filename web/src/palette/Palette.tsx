// Everything that can be done, by name. The chosen conversation, if there is one, is what it is done to.

import type { Conversation } from "../api";

export function Palette(_: { conversation: Conversation | undefined; conversations: Conversation[] }) {
  return null;
}
