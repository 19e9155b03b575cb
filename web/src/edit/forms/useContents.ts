// The content of several frames, steps or parts.

import { useQueries } from "@tanstack/react-query";

import { type FrameContent, getFrame } from "../../api";
import { frameKey } from "../../queries";

export function useContents(conversation: string, ids: readonly string[]): { data: FrameContent[]; ready: boolean } {
  return useQueries({
    queries: ids.map((id) => ({ queryKey: frameKey(conversation, id), queryFn: () => getFrame(conversation, id) })),
    combine: (answers) => ({
      data: answers.flatMap(({ data }) => (data === undefined ? [] : [data])),
      ready: answers.every(({ isPending }) => !isPending),
    }),
  });
}
