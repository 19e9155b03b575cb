// What can be done with a block that is shown: look at its JSON, copy it.

import { ActionIcon } from "@mantine/core";
import { CodeIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Block } from "../api";
import styles from "./BlockView.module.css";
import { Copy } from "./Copy";
import { blockJson } from "./sent";
import { pretty } from "./summaries";
import { Words } from "./Words";

export function BlockTools({ block }: { block: Block }) {
  const [raw, setRaw] = useState(false);
  return (
    <>
      {raw && (
        <div className={styles.raw}>
          <Words text={pretty(blockJson(block))} mono />
        </div>
      )}
      <div className={styles.tools}>
        {/* The browser's own tips: hundreds of these are drawn while somebody scrolls. */}
        <ActionIcon
          size="sm"
          variant={raw ? "light" : "subtle"}
          color="gray"
          aria-label="JSON"
          title={raw ? "Hide its JSON" : "Show its JSON"}
          aria-pressed={raw}
          onClick={() => setRaw(!raw)}
        >
          <CodeIcon />
        </ActionIcon>
        <Copy text={() => (raw ? pretty(blockJson(block)) : block.text)} label="Copy this block" />
      </div>
    </>
  );
}
