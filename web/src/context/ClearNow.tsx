// A button that clears everything the automatic editor may clear, in any mode.

import { Button, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";

import { short } from "../format/numbers";
import styles from "./context.module.css";
import { useClear } from "./useContextFill";

interface Props {
  conversation: string;
  /** The clearable tokens. */
  tokens: number;
  onDone: () => void;
}

export function ClearNow({ conversation, tokens, onDone }: Props) {
  const clear = useClear(conversation);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  if (tokens === 0) return <p className={styles.nothing}>Nothing to clear.</p>;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    const isDone = await clear(reason.trim() || null);
    setBusy(false);
    if (isDone) onDone();
  };

  return (
    <form className={styles.clear} onSubmit={(event) => void submit(event)}>
      <TextInput
        size="xs"
        aria-label="Reason"
        placeholder="Reason, for the history"
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      <Button size="xs" type="submit" loading={busy}>
        Clear now −{short(tokens)}
      </Button>
      <p>Cleared content is saved to files first. You can undo the commit.</p>
    </form>
  );
}
