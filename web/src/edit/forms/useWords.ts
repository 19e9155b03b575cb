// The words that the daemon itself finds for an operation that has none: a dry run tells them.

import { useQuery } from "@tanstack/react-query";

import { type Operation, preview, type HelperText } from "../../api";
import { keys } from "../../queries";

export function useWords(conversation: string, operation: Operation, enabled: boolean) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "words", operation],
    queryFn: async ({ signal }): Promise<HelperText[]> =>
      (await preview(conversation, { operations: [operation] }, signal)).written ?? [],
    enabled,
  });
}
