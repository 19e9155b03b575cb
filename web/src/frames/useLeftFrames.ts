// Frames that the agent has left behind, and why.

import { useQuery } from "@tanstack/react-query";

import { getLeftFrames } from "../api/more";
import { keys, useFrames } from "../queries";

/** Fetched only if there are any. */
export function useLeftFrames(conversation: string) {
  const { data: frames } = useFrames(conversation);
  const count = (frames as { left_frames?: number } | undefined)?.left_frames ?? 0;
  return useQuery({
    enabled: count > 0,
    queryKey: [...keys.conversation(conversation), "left"],
    queryFn: () => getLeftFrames(conversation),
  });
}

export const LEFT_WORDS = { before_compaction: "before compaction", rewound: "rewound" } as const;

/** The states of frames that the agent has left behind. */
export const LEFT_STATES: readonly string[] = ["before-compaction", "rewound"];
