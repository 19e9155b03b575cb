// Frames that the agent has left behind, and why.

import { useQuery } from "@tanstack/react-query";

import { getLeftFrames } from "../api/more";
import { keys } from "../queries";

export function useLeftFrames(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "left"],
    queryFn: () => getLeftFrames(conversation),
  });
}

export const LEFT_WORDS = { "before-compaction": "before compaction", rewound: "rewound" } as const;
