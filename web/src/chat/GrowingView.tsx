// A reply in progress.

import { Badge } from "@mantine/core";

import { Markdown } from "../markup/Markdown";
import { Words } from "../messages/Words";
import styles from "./chat.module.css";
import type { Growing } from "./growing";

/** Only the end of a very long part, where it grows. */
const TAIL = 3000;

export function GrowingView({ growing }: { growing: Growing }) {
  return (
    <div className={styles.speech} data-role="assistant" aria-label="Reply being written" role="group">
      <div className={styles.speaker}>
        <span className={styles.role}>assistant</span>
        <Badge color="teal">{growing.ended !== null ? "written" : "writing"}</Badge>
      </div>
      <div className={styles.items} data-ended={growing.ended !== null || undefined}>
        {growing.gaps && <div className={styles.label}>The full reply appears when it is complete.</div>}
        {growing.parts.map(({ block, part, tool, text }) => (
          <div key={block} className={styles.growing} data-part={part}>
            {part !== "text" && <div className={styles.label}>{part === "tool" ? (tool ?? "Call") : "Thinking"}</div>}
            {text.length > TAIL && "…"}
            {part === "text" ? <Markdown text={text.slice(-TAIL)} /> : <Words text={text.slice(-TAIL)} mono={part === "tool"} />}
          </div>
        ))}
      </div>
    </div>
  );
}
