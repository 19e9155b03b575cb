// Requests effect and price of operations while the user fills them in.

import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { ApiError, type Operation, plan } from "../api";
import { keys } from "../queries";

export function usePrice(conversation: string, operations: readonly Operation[], head: string | null) {
  return useQuery({
    queryKey: [...keys.conversation(conversation), "price", head, operations],
    queryFn: ({ signal }) => plan(conversation, { operations: [...operations], expect: head }, signal),
    enabled: operations.length > 0,
    placeholderData: keepPreviousData,
    gcTime: 30_000,
  });
}

/** Another client has committed since the start. */
export function isStale(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === "stale";
}

/** There is nothing to do: the state is already as requested. */
export function isNothing(error: unknown): boolean {
  return error instanceof ApiError && error.code === "nothing-to-do";
}
