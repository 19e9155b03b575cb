// What stands above is remembered by the provider; a change there makes it read again everything behind the change.

import { Tooltip } from "@mantine/core";

import { useNow } from "../format/useNow";
import { cacheWords, type Line } from "./cache";
import styles from "./frames.module.css";

export function CacheLine({ line }: { line: Line }) {
  const now = useNow();
  const warm = line.warm && line.expires > now;
  return (
    <Tooltip label="The provider remembers what stands above, and reads it at a tenth of the price. A change above the line makes it read again everything behind the change.">
      <div className={styles.cache} data-warm={warm || undefined}>
        <span>{cacheWords(line, now)}</span>
      </div>
    </Tooltip>
  );
}
