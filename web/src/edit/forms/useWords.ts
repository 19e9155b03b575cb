// The text that the daemon itself writes for an operation without one, taken from a dry run.

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
