// A command to copy.

import { ActionIcon, CopyButton } from "@mantine/core";
import { CheckIcon, CopyIcon } from "@radix-ui/react-icons";

import styles from "./notices.module.css";

export function Command({ text }: { text: string }) {
  return (
    <div className={styles.command}>
      <code>{text}</code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <ActionIcon variant="subtle" color={copied ? "teal" : "gray"} onClick={copy} aria-label={`Copy ${text}`}>
            {copied ? <CheckIcon /> : <CopyIcon />}
          </ActionIcon>
        )}
      </CopyButton>
    </div>
  );
}
