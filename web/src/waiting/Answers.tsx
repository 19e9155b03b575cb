// Accepts or declines a proposal.

import { Button, Tooltip } from "@mantine/core";
import { useState } from "react";

import { useAccept, useAnswerMany, useCancel } from "./useWaiting";
import styles from "./waiting.module.css";

export function Answers({ conversation, id }: { conversation: string; id: string }) {
  const accept = useAccept(conversation);
  const decline = useCancel(conversation);
  const [busy, setBusy] = useState(false);
  const answer = async (how: (edit: string) => Promise<void>) => {
    setBusy(true);
    await how(id);
    setBusy(false);
  };
  return (
    <span className={styles.answers}>
      <Tooltip label="Decline for good: these results are not proposed again">
        <Button
          size="compact-xs"
          variant="default"
          disabled={busy}
          aria-label={`Decline ${id}`}
          onClick={() => void answer(decline)}
        >
          Decline
        </Button>
      </Tooltip>
      <Button size="compact-xs" loading={busy} aria-label={`Accept ${id}`} onClick={() => void answer(accept)}>
        Accept
      </Button>
    </span>
  );
}

/** The same to all proposals at once. */
export function AllAnswers({ conversation, ids }: { conversation: string; ids: string[] }) {
  const answer = useAnswerMany(conversation);
  const [busy, setBusy] = useState(false);
  const all = async (how: "accept" | "cancel") => {
    setBusy(true);
    await answer(how, ids);
    setBusy(false);
  };
  return (
    <span className={styles.answers}>
      <Button size="compact-xs" variant="default" disabled={busy} onClick={() => void all("cancel")}>
        Decline all
      </Button>
      <Button size="compact-xs" loading={busy} onClick={() => void all("accept")}>
        Accept all
      </Button>
    </span>
  );
}
