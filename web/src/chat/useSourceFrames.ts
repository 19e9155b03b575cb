// The frames as the agent believes they are; requested only when the user looks at that side.

import { useQuery } from "@tanstack/react-query";

import { getFrames } from "../api";
import { framesKey } from "../queries";

export function useSourceFrames(conversation: string, enabled: boolean) {
  return useQuery({
    queryKey: framesKey(conversation, "source"),
    queryFn: () => getFrames(conversation, "source"),
    enabled,
  });
}
