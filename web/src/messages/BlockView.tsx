// One block of a message. Words are shown; what is long, mechanical or injected is folded behind a line that says what
// it is and how much it weighs. Nothing from the conversation is ever treated as markup.

import { ActionIcon, CopyButton, Tooltip } from "@mantine/core";
import { CheckIcon, ChevronRightIcon, CodeIcon, CopyIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Block, BlockKind } from "../api";
import { bytes, tokens } from "../format/numbers";
import styles from "./BlockView.module.css";
import { LongText } from "./LongText";
import { blockLabel, callInput, callSummary, firstLine, picture, pretty } from "./summaries";

/** Kinds that are a person's or the model's own words, shown without a click. */
const SHOWN: ReadonlySet<BlockKind> = new Set(["text", "system", "image"]);

interface Props {
  block: Block;
  /** The tool behind each call of the frame. */
  tools: ReadonlyMap<string, string>;
  calibrated: boolean;
}

export function BlockView({ block, tools, calibrated }: Props) {
  const [open, setOpen] = useState(SHOWN.has(block.kind));
  const [raw, setRaw] = useState(false);

  return (
    <div className={styles.block} data-kind={block.kind} data-error={block.is_error || undefined}>
      {block.kind !== "text" && (
        <button type="button" className={styles.line} aria-expanded={open} onClick={() => setOpen(!open)}>
          <ChevronRightIcon className={styles.chevron} />
          <span className={styles.label}>{blockLabel(block, tools)}</span>
          <span className={styles.summary}>{open ? "" : summary(block)}</span>
          {block.kind === "tool_result" && <span className={styles.tokens}>{bytes(new Blob([block.text]).size)}</span>}
          <span className={styles.tokens}>{tokens(block.tokens, calibrated)}</span>
        </button>
      )}
      {open && (
        <div className={styles.content}>
          {raw ? <LongText text={pretty(block.raw)} mono /> : <Content block={block} />}
          <div className={styles.tools}>
            <Tooltip label={raw ? "Show it readable" : "Show its JSON"}>
              <ActionIcon
                size="sm"
                variant={raw ? "light" : "subtle"}
                color="gray"
                aria-label="JSON"
                aria-pressed={raw}
                onClick={() => setRaw(!raw)}
              >
                <CodeIcon />
              </ActionIcon>
            </Tooltip>
            <CopyButton value={raw ? pretty(block.raw) : block.text}>
              {({ copied, copy }) => (
                <ActionIcon
                  size="sm"
                  variant="subtle"
                  color={copied ? "teal" : "gray"}
                  aria-label="Copy"
                  onClick={copy}
                >
                  {copied ? <CheckIcon /> : <CopyIcon />}
                </ActionIcon>
              )}
            </CopyButton>
          </div>
        </div>
      )}
    </div>
  );
}

function Content({ block }: { block: Block }) {
  switch (block.kind) {
    case "image": {
      const source = picture(block);
      if (source === null) return <LongText text={pretty(block.raw)} mono />;
      return <img className={styles.picture} src={source} alt="From the conversation" />;
    }
    case "tool_use":
      return <LongText text={callInput(block.raw)} mono />;
    case "tool":
    case "other":
      return <LongText text={pretty(block.raw)} mono />;
    case "thinking":
      if (block.text === "") {
        return <p className={styles.withheld}>The provider keeps the words of this thought; only its seal is sent.</p>;
      }
      return <LongText text={block.text} />;
    default:
      return <LongText text={block.text} mono={block.kind === "tool_result" || block.kind === "reminder"} />;
  }
}

function summary(block: Block): string {
  if (block.kind === "tool_use") return callSummary(block.raw);
  return firstLine(block.text);
}
