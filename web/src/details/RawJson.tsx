// The JSON of the open item, as sent or as the agent sent it.

import { Button, SegmentedControl } from "@mantine/core";
import { useMemo, useState } from "react";

import type { FrameContent } from "../api";
import { Code } from "../markup/Code";
import { Clipped } from "../messages/Clipped";
import { Copy } from "../messages/Copy";
import { json, sentOf, sourceOf } from "../messages/sent";
import { pretty } from "../messages/summaries";
import styles from "./details.module.css";

type Side = "sent" | "source";
const SIDES = [
  { value: "sent", label: "Sent version" },
  { value: "source", label: "The agent’s version" },
];

interface Props {
  content: FrameContent;
  /** Opens the whole as JSON in an editor, where that is possible. */
  onEdit: (() => void) | null;
}

export function RawJson({ content, onEdit }: Props) {
  const [side, setSide] = useState<Side>("sent");
  const text = useMemo(
    () => pretty(json(side === "sent" ? sentOf(content.messages) : sourceOf(content.messages))),
    [content, side],
  );
  return (
    <div className={styles.raw}>
      <div className={styles.bar}>
        <SegmentedControl
          size="xs"
          data={SIDES}
          value={side}
          onChange={(value) => setSide(value as Side)}
          aria-label="Version"
        />
        <span className={styles.grow} />
        {onEdit !== null && side === "sent" && (
          <Button size="compact-xs" variant="default" onClick={onEdit}>
            Edit
          </Button>
        )}
        <Copy text={() => text} label="Copy the JSON" />
      </div>
      <div className={styles.scroll} tabIndex={0} role="region" aria-label="JSON">
        <div className={styles.json}>
          <Clipped key={side} text={text} first={20_000}>
            {(shown) => <Code text={shown} language="json" />}
          </Clipped>
        </div>
      </div>
    </div>
  );
}
