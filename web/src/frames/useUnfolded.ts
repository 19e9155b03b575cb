// The frames whose steps are unfolded; remembered while other views are open.

import { useCallback, useState } from "react";

const remembered = new Map<string, ReadonlySet<string>>();

export function useUnfolded(conversation: string, open: string | null) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(
    () => remembered.get(conversation) ?? new Set(frameOfStep(open)),
  );

  const change = useCallback(
    (make: (before: ReadonlySet<string>) => Iterable<string>) =>
      setUnfolded((before) => {
        const next = new Set(make(before));
        remembered.set(conversation, next);
        return next;
      }),
    [conversation],
  );

  const fold = useCallback(
    (id: string, unfold?: boolean) =>
      change((before) => {
        const next = new Set(before);
        if (unfold ?? !next.has(id)) next.add(id);
        else next.delete(id);
        return next;
      }),
    [change],
  );

  /** Shows these steps. */
  const reveal = useCallback(
    (ids: readonly string[]) => change((before) => [...before, ...ids.flatMap(frameOfStep)]),
    [change],
  );

  const set = useCallback((ids: Iterable<string>) => change(() => ids), [change]);

  return { unfolded, fold, reveal, set };
}

/** Whether steps of the conversation are visible; `open`: the item in the panel. */
export function showsSteps(conversation: string, open: string | null): boolean {
  return (remembered.get(conversation)?.size ?? 0) > 0 || frameOfStep(open).length > 0;
}

/** A link to a step shows the step. */
function frameOfStep(id: string | null): string[] {
  const frame = id?.match(/^([ta][\d.]+)\//)?.[1];
  return frame === undefined ? [] : [frame];
}
