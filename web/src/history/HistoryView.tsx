// What happened, and what was changed.

import type { Conversation } from "../api";
import { Timeline } from "../timeline/Timeline";

export function HistoryView({ conversation }: { conversation: Conversation }) {
  return <Timeline conversation={conversation.id} />;
}
