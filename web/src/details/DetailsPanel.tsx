// The side panel: what one frame, step or part is.

import type { Conversation } from "../api";
import { FramePanel } from "../messages/FramePanel";

interface Props {
  conversation: Conversation;
  id: string;
  onOpen: (id: string) => void;
  onClose: () => void;
}

export function DetailsPanel({ conversation, id, onOpen, onClose }: Props) {
  return <FramePanel conversation={conversation.id} id={id} onOpen={onOpen} onClose={onClose} />;
}
