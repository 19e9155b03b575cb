// The actions on a block: show plain text, show JSON, copy.

import { ActionIcon } from "@mantine/core";
import { CodeIcon, TextIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Block } from "../api";
import { Code } from "../markup/Code";
import styles from "./BlockView.module.css";
import { Clipped } from "./Clipped";
import { Copy } from "./Copy";
import { blockJson } from "./sent";
import { pretty } from "./summaries";

interface Props {
  block: Block;
  plain: boolean;
  onPlain: (plain: boolean) => void;
}

export function BlockTools({ block, plain, onPlain }: Props) {
  const [raw, setRaw] = useState(false);
  return (
    <>
      {raw && (
        <div className={styles.raw}>
          <Clipped text={pretty(blockJson(block))}>{(shown) => <Code text={shown} language="json" />}</Clipped>
        </div>
      )}
      <div className={styles.tools}>
        {/* The browser's own tips: hundreds of these are drawn while the user scrolls. */}
        <ActionIcon
          size="sm"
          variant={plain ? "light" : "subtle"}
          color="gray"
          aria-label="Plain text"
          title={plain ? "Show rendered" : "Show as plain text"}
          aria-pressed={plain}
          onClick={() => onPlain(!plain)}
        >
          <TextIcon />
        </ActionIcon>
        <ActionIcon
          size="sm"
          variant={raw ? "light" : "subtle"}
          color="gray"
          aria-label="JSON"
          title={raw ? "Hide JSON" : "Show JSON"}
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
