// Yes or no to a proposal.

import { Button, Tooltip } from "@mantine/core";
import { useState } from "react";

import { useAccept, useCancel } from "./useWaiting";
import styles from "./waiting.module.css";

export function Answers({ conversation, id }: { conversation: string; id: string }) {
  const accept = useAccept(conversation);
  const decline = useCancel(conversation);
  const [busy, setBusy] = useState(false);
  const answer = async (how: (wish: string) => Promise<void>) => {
    setBusy(true);
    await how(id);
    setBusy(false);
  };
  return (
    <span className={styles.answers}>
      <Tooltip label="It is not made, and these results are not proposed again">
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
