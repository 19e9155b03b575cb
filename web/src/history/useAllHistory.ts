// The commits of all branches, and the events as far back as requested.

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";

import { client, getTimeline, type History } from "../api";
import { taken } from "../api/errors";
import { keys } from "../queries";

export const allHistory = (conversation: string) =>
  queryOptions({
    queryKey: [...keys.conversation(conversation), "history", "all"],
    queryFn: (): Promise<History> =>
      taken(
        client.GET("/conversations/{conversation}/history", {
          params: { path: { conversation }, query: { all: true, brief: true } },
        }),
      ),
  });

export function useAllHistory(conversation: string) {
  return useQuery(allHistory(conversation));
}

/** The number of events loaded from the timeline. */
export function useEvents(conversation: string, limit: number) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "timeline", limit],
    queryFn: () => getTimeline(conversation, limit),
    placeholderData: keepPreviousData,
  });
}
