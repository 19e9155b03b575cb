// The chat as the model sees it now.

import type { Conversation } from "../api";

export function ChatView({ conversation }: { conversation: Conversation }) {
  return <p>{conversation.title}</p>;
}
