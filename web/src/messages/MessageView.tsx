// One message: who speaks, and its blocks.

import { Badge } from "@mantine/core";

import type { Message } from "../api";
import { tokens } from "../format/numbers";
import { BlockView } from "./BlockView";
import styles from "./MessageView.module.css";

interface Props {
  message: Message;
  tools: ReadonlyMap<string, string>;
  calibrated: boolean;
}

export function MessageView({ message, tools, calibrated }: Props) {
  return (
    <article className={styles.message} data-role={message.role} aria-label={`${message.role} ${message.id}`}>
      <header className={styles.header}>
        <span className={styles.role}>{message.role}</span>
        <span className={styles.id}>{message.id}</span>
        {message.pending && <Badge color="teal">pending reply</Badge>}
        <span className={styles.tokens}>{tokens(message.tokens, calibrated)}</span>
      </header>
      {message.blocks.length === 0 && <p className={styles.empty}>No content</p>}
      {message.blocks.map((block) => (
        <BlockView key={block.id} block={block} tools={tools} calibrated={calibrated} />
      ))}
    </article>
  );
}
