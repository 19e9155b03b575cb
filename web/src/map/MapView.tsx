// A picture of the whole context.

import type { Conversation } from "../api";

export function MapView({ conversation }: { conversation: Conversation }) {
  return <p>{conversation.title}</p>;
}
