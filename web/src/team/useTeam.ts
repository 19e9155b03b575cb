// Queries and changes of the team's page.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { getAudit, getFigures, getKeys, getNotices, getPeople, getShares, getSpend } from "../api/team";
import { complain, tell } from "../notices/toasts";

const AUDIT_LIMIT = 500;
/** Other people change a team too. */
const AGAIN_AFTER = 15_000;

const team = (what: string, ...more: string[]) => ["team", what, ...more];
const fresh = { refetchInterval: AGAIN_AFTER, staleTime: 0 };

export const usePeople = (enabled = true) =>
  useQuery({ queryKey: team("people"), queryFn: getPeople, enabled, ...fresh });
export const useTeamKeys = () => useQuery({ queryKey: team("keys"), queryFn: getKeys, ...fresh });
export const useShares = () => useQuery({ queryKey: team("shares"), queryFn: getShares, ...fresh });
export const useNotices = () => useQuery({ queryKey: team("notices"), queryFn: getNotices, ...fresh });
export const useAudit = () => useQuery({ queryKey: team("audit"), queryFn: () => getAudit(AUDIT_LIMIT), ...fresh });
export const useFigures = (person: string) =>
  useQuery({ queryKey: team("figures", person), queryFn: () => getFigures(person), staleTime: 0 });

export const useSpend = (by: Parameters<typeof getSpend>[0], since: number | undefined, everyone: boolean) =>
  useQuery({ queryKey: team("spend", by, String(since), String(everyone)), queryFn: () => getSpend(by, since, everyone), staleTime: 0 });

interface Warned {
  warnings?: string[];
}

/** A change of the team: reports it and refetches everything about the team. */
export function useChange<Input, Answer extends Warned>(
  change: (input: Input) => Promise<Answer>,
  done: (input: Input, answer: Answer) => string,
) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (answer, input) => {
      const remarks = (answer.warnings ?? []).map((text) => ({ text, isWarning: true }));
      tell(done(input, answer), null, null, remarks);
    },
    onError: (error) => complain(error),
    onSettled: () => queries.invalidateQueries({ queryKey: ["team"] }),
  });
}
