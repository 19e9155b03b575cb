// Fetches composition, cost and cache misses of the context.

import { useQuery } from "@tanstack/react-query";

import { client } from "../api";
import { taken } from "../api/errors";
import { keys } from "../queries";

export function useMap(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "map"],
    queryFn: () => taken(client.GET("/conversations/{conversation}/map", { params: { path: { conversation } } })),
  });
}

/** The number of misses marked in the plot. */
const MISSES = 200;

export function useMisses(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "misses"],
    queryFn: () =>
      taken(
        client.GET("/conversations/{conversation}/misses", {
          params: { path: { conversation }, query: { limit: MISSES } },
        }),
      ),
  });
}

export function useSpent(conversation: string) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "spent"],
    queryFn: async () => (await taken(client.GET("/stats", { params: { query: { conv: conversation, limit: 1 } } }))).total,
  });
}
