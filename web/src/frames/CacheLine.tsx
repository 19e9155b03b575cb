// Marks the end of the provider's cache: after a change above the line, the provider re-reads everything behind the
// change.

import { Tooltip } from "@mantine/core";

import { useNow } from "../format/useNow";
import { cacheWords, type Line } from "./cache";
import styles from "./frames.module.css";

export function CacheLine({ line }: { line: Line }) {
  const now = useNow();
  const warm = line.warm && line.expires > now;
  return (
    <Tooltip label="The provider has cached everything above this line and reads it at a tenth of the price. After a change above it, the provider re-reads everything from there on.">
      <div className={styles.cache} data-warm={warm || undefined}>
        <span>{cacheWords(line, now)}</span>
      </div>
    </Tooltip>
  );
}
