// The effect of undo, revert or rollback, before it is applied.

import { useQuery } from "@tanstack/react-query";

import { go } from "../api";
import { plural, short } from "../format/numbers";
import { inWords } from "../notices/words";
import type { Step } from "./useWays";
import styles from "./WayPrice.module.css";

interface Props {
  conversation: string;
  /** The current head, for which the answer is valid. */
  head: string | null;
  step: Step;
}

export function WayPrice({ conversation, head, step }: Props) {
  const { data, error } = useQuery({
    queryKey: ["way", conversation, head, step],
    queryFn: () => go(conversation, { ...step, dry_run: true }),
    retry: false,
  });
  if (error !== null) return <span className={styles.price}>{inWords(error).message}</span>;
  if (data === undefined) return null;
  const { tokens_before, tokens_after, preview } = data;
  const parts = [
    tokens_before === tokens_after ? "same size" : `${short(tokens_before)} → ${short(tokens_after)} tokens`,
    preview.tokens_reread > 0 ? `the provider re-reads ${short(preview.tokens_reread)} once` : null,
    preview.thinking_dropped > 0 ? `${plural(preview.thinking_dropped, "thinking block")} no longer sent` : null,
  ].filter((part) => part !== null);
  return <span className={styles.price}>{parts.join(" · ")}</span>;
}
