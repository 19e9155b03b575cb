// The frames of the agent's version; fetched only when the user selects it.

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
