// What a way through the history would change, before it is gone.

import { useQuery } from "@tanstack/react-query";

import { go } from "../api";
import { plural, short } from "../format/numbers";
import { inWords } from "../notices/words";
import { keys } from "../queries";
import type { Step } from "./useWays";
import styles from "./WayPrice.module.css";

export function WayPrice({ conversation, step }: { conversation: string; step: Step }) {
  const { data, error } = useQuery({
    queryKey: [...keys.conversation(conversation), "way", step],
    queryFn: () => go(conversation, { ...step, dry_run: true }),
    retry: false,
  });
  if (error !== null) return <span className={styles.price}>{inWords(error).message}</span>;
  if (data === undefined) return null;
  const { tokens_before, tokens_after, preview } = data;
  const parts = [
    tokens_before === tokens_after ? "same size" : `${short(tokens_before)} → ${short(tokens_after)} tokens`,
    preview.tokens_reread > 0 ? `the provider reads ${short(preview.tokens_reread)} again once` : null,
    preview.thinking_dropped > 0 ? `${plural(preview.thinking_dropped, "thought")} no longer sent` : null,
  ].filter((part) => part !== null);
  return <span className={styles.price}>{parts.join(" · ")}</span>;
}
