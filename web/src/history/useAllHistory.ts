// The commits of all branches. The history of one branch is in queries.ts.

import { queryOptions, useQuery } from "@tanstack/react-query";

import { client, type History } from "../api";
import { taken } from "../api/errors";
import { keys } from "../queries";

export const allHistory = (conversation: string) =>
  queryOptions({
    queryKey: [...keys.conversation(conversation), "history", "all"],
    queryFn: (): Promise<History> =>
      taken(
        client.GET("/conversations/{conversation}/history", {
          params: { path: { conversation }, query: { all: true } },
        }),
      ),
  });

export function useAllHistory(conversation: string) {
  return useQuery(allHistory(conversation));
}
