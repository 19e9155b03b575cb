// A new key, shown once.

import { Button, Modal } from "@mantine/core";

import type { MadeKey } from "../api/team";
import { Command } from "../notices/Command";
import styles from "./team.module.css";

export function NewKeyDialog({ made, onClose }: { made: MadeKey; onClose: () => void }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={`New key for ${made.person}`}
      size={620}
      closeOnClickOutside={false}
      lockScroll={false}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <p className={styles.plain}>Copy it now: it is not stored, and cannot be shown again.</p>
      <Command text={made.key} />
      <p className={styles.plain}>For Claude Code:</p>
      <Command text={`export ANTHROPIC_CUSTOM_HEADERS="x-ctx-key: ${made.key}"`} />
      <div className={styles.buttons}>
        <Button size="xs" onClick={onClose}>
          Done
        </Button>
      </div>
    </Modal>
  );
}
