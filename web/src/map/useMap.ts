// Asks what the context is made of.

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
