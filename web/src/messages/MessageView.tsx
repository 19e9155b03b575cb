// One message: the speaker and the blocks.

import { Badge } from "@mantine/core";
import { memo, type ReactNode } from "react";

import type { Message } from "../api";
import { tokens } from "../format/numbers";
import { BlockView } from "./BlockView";
import styles from "./MessageView.module.css";
import type { ToolCalls } from "./summaries";

interface Props {
  message: Message;
  tools: ToolCalls;
  calibrated: boolean;
  /** Identifies it in the list. */
  scope?: string;
  /** Buttons at the end of its line. */
  actions?: ReactNode;
}

export const MessageView = memo(function MessageView({ message, tools, calibrated, scope = "", actions }: Props) {
  return (
    <article
      className={styles.message}
      data-role={message.role}
      data-made={message.made || undefined}
      aria-label={`${message.role} ${message.id}`}
    >
      <header className={styles.header}>
        <span className={styles.role}>{message.role}</span>
        <span className={styles.id}>{message.id}</span>
        {message.made && <Badge color="orange">by an edit</Badge>}
        {message.pending && <Badge color="teal">pending reply</Badge>}
        <span className={styles.tokens}>{tokens(message.tokens, calibrated)} tokens</span>
        {actions}
      </header>
      {message.blocks.length === 0 && <p className={styles.empty}>No content</p>}
      {message.blocks.map((block, index) => (
        <BlockView key={index} block={block} tools={tools} calibrated={calibrated} scope={scope} />
      ))}
    </article>
  );
});
