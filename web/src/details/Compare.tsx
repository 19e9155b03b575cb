// The sent version beside the agent's.

import { SegmentedControl } from "@mantine/core";
import { useMemo, useState } from "react";

import type { FrameContent } from "../api";
import { Merge } from "../code";
import { json, plain, sentOf, sourceOf } from "../messages/sent";
import { pretty } from "../messages/summaries";
import styles from "./details.module.css";

type As = "words" | "json";
const NAMES = ["The agent’s version", "Sent version"] as const;

export function Compare({ content }: { content: FrameContent }) {
  const [as, setAs] = useState<As>("words");
  const [before, after] = useMemo(() => {
    const both = [sourceOf(content.messages), sentOf(content.messages)];
    return both.map((messages) => (as === "words" ? plain(messages) : `${pretty(json(messages))}\n`));
  }, [content, as]);
  const same = before === after;
  return (
    <div className={styles.compare}>
      <div className={styles.bar}>
        <SegmentedControl
          size="xs"
          data={[
            { value: "words", label: "Words" },
            { value: "json", label: "JSON" },
          ]}
          value={as}
          onChange={(value) => setAs(value as As)}
          aria-label="Compare as"
        />
        <span className={styles.quiet}>{same ? "Sent unchanged." : ""}</span>
      </div>
      {!same && (
        <Merge
          before={before ?? ""}
          after={after ?? ""}
          names={NAMES}
          language={as === "json" ? "json" : "text"}
        />
      )}
    </div>
  );
}
