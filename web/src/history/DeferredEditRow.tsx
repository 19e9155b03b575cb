// A deferred edit or proposal: waiting, applied, failed or cancelled.

import { Badge, Button } from "@mantine/core";

import type { WaitingEvent } from "../api";
import { useNow } from "../format/useNow";
import { Answers } from "../waiting/Answers";
import { useCancel, useWaiting } from "../waiting/useWaiting";
import { isProposal, proposalWords, waitsFor } from "../waiting/words";
import styles from "./HistoryView.module.css";
import { Note } from "./Note";

export function DeferredEditRow({ conversation, event }: { conversation: string; event: WaitingEvent }) {
  const { data } = useWaiting(conversation);
  const cancel = useCancel(conversation);
  const now = useNow();
  const { id, at, state } = event;
  const edit = data?.wishes.find((one) => one.id === id);
  const proposed = edit !== undefined && isProposal(edit);
  const summary = event.summary ?? edit?.summary ?? id;
  const what = proposed ? proposalWords(edit) : summary;
  if (state === "failed") {
    return (
      <Note at={at}>
        <Badge color="red">not applied</Badge> {what}: {event.failure?.message} {event.failure?.hint}
      </Note>
    );
  }
  if (state === "cancelled") {
    return (
      <Note at={at}>
        <Badge color="gray">{proposed ? "declined" : "cancelled"}</Badge> {what}
      </Note>
    );
  }
  const isWaiting = edit?.state === "waiting";
  return (
    <Note at={at}>
      <span className={styles.edit}>
        <Badge color={!isWaiting ? "gray" : proposed ? "grape" : "indigo"}>
          {proposed ? "proposed" : isWaiting ? "waits" : "waited"}
        </Badge>
        <bdi>{what}</bdi>
        {isWaiting && data !== undefined && (
          <>
            <span className={styles.until}>{waitsFor(edit.when, data, now)}</span>
            {proposed ? (
              <Answers conversation={conversation} id={id} />
            ) : (
              <Button size="compact-xs" variant="default" aria-label={`Cancel ${id}`} onClick={() => void cancel(id)}>
                Cancel
              </Button>
            )}
          </>
        )}
      </span>
    </Note>
  );
}
