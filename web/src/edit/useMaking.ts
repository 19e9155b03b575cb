// Operations before they are applied: price, obstacles, and the ways to apply or discard them.

import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";

import type { ApiError, Operation, When } from "../api";
import { select } from "./selection";
import { addToStage } from "./stage";
import { useOperate } from "./useOperate";
import { isStale, usePrice } from "./usePrice";

/** Prices are not requested on every key while the user types. */
const PAUSE = 200;

interface Wanted {
  conversation: string;
  /** The operations; the same list while unchanged, empty while incomplete. */
  operations: readonly Operation[];
  /** The head on the screen at the start. */
  head: string;
  /** The condition of a deferred edit. */
  when?: When;
  onDone: () => void;
}

export interface Making {
  /** The operations to price. */
  priced: readonly Operation[];
  /** Another client made a commit meanwhile. */
  stale: ApiError | null;
  refusal: Error | null;
  busy: boolean;
  ready: boolean;
  make: () => Promise<void>;
  stage: () => void;
  /** After a change, the last refusal is outdated. */
  again: () => void;
}

export function useMaking({ conversation, operations, head, when = "now", onDone }: Wanted): Making {
  const { commit } = useOperate(conversation);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Error | null>(null);
  const [priced] = useDebouncedValue(operations, PAUSE, { leading: true });
  const price = usePrice(conversation, priced, head);
  const stale = isStale(refusal) ? refusal : isStale(price.error) ? price.error : null;
  const refused = price.error !== null && !price.isFetching && priced === operations;
  const ready = operations.length > 0 && stale === null && !refused && !busy;

  const make = async () => {
    if (!ready) return;
    setBusy(true);
    setRefusal(null);
    try {
      await commit(operations, head, when);
      onDone();
    } catch (error) {
      setRefusal(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setBusy(false);
    }
  };
  const stage = () => {
    if (!ready) return;
    addToStage(conversation, operations, head);
    // The next operation has other targets.
    select(conversation, []);
    onDone();
  };
  return { priced, stale, refusal, busy, ready, make, stage, again: () => setRefusal(null) };
}
