// Asks for confirmation before a removal.

import { Button, Modal } from "@mantine/core";

import styles from "./team.module.css";

interface Props {
  title: string;
  words: string;
  label: string;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ title, words, label, onConfirm, onClose }: Props) {
  return (
    <Modal opened onClose={onClose} title={title} lockScroll={false} transitionProps={{ duration: 0 }} closeButtonProps={{ "aria-label": "Close" }}>
      <p className={styles.plain}>{words}</p>
      <div className={styles.buttons}>
        <Button size="xs" variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          size="xs"
          color="red"
          data-autofocus
          onClick={() => {
            onConfirm();
            onClose();
          }}
        >
          {label}
        </Button>
      </div>
    </Modal>
  );
}
