// A reply while it is being written.

import { Badge } from "@mantine/core";

import { Words } from "../messages/Words";
import styles from "./chat.module.css";
import type { Growing } from "./growing";

/** Only the end of a very long part: it grows there. */
const TAIL = 3000;

export function GrowingView({ growing }: { growing: Growing }) {
  return (
    <div className={styles.speech} data-role="assistant" data-growing aria-live="polite" aria-busy>
      <div className={styles.speaker}>
        <span className={styles.role}>assistant</span>
        <Badge color="teal">writing</Badge>
      </div>
      <div className={styles.items}>
        {growing.parts.map(({ kind, text }, index) => (
          <div key={index} className={styles.growing} data-kind={kind}>
            {text.length > TAIL && <div className={styles.label}>…</div>}
            <Words text={text.slice(-TAIL)} mono={kind === "tool"} />
          </div>
        ))}
      </div>
    </div>
  );
}
