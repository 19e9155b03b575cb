// Deferred edits, each with its operations and a way to cancel it, and proposals.

import { Badge, Button, Tooltip } from "@mantine/core";
import { ClockIcon, ExclamationTriangleIcon } from "@radix-ui/react-icons";

import type { Waiting, DeferredEdit } from "../api";
import { short } from "../format/numbers";
import { moment } from "../format/time";
import { useNow } from "../format/useNow";
import { AllAnswers } from "./Answers";
import { Operations } from "./Operations";
import { Proposal } from "./Proposal";
import { useCancel, useWaiting } from "./useWaiting";
import styles from "./waiting.module.css";
import { heading, isProposal, shown, waitsFor } from "./words";

export function WaitingList({ conversation }: { conversation: string }) {
  const { data } = useWaiting(conversation);
  const cancel = useCancel(conversation);
  const edits = data === undefined ? [] : shown(data.wishes);
  if (data === undefined || edits.length === 0) return null;
  // The newest is first in the list and applied last: it may depend on an earlier one.
  const proposals = edits.filter((edit) => isProposal(edit) && edit.state === "waiting").map(({ id }) => id).reverse();
  return (
    <section className={styles.list} aria-label="Deferred edits">
      <h3 className={styles.heading}>
        {heading(edits)}
        {proposals.length > 1 && <AllAnswers conversation={conversation} ids={proposals} />}
      </h3>
      <ul>
        {edits.map((edit) =>
          isProposal(edit) && edit.state === "waiting" ? (
            <Proposal key={edit.id} conversation={conversation} edit={edit} />
          ) : (
            <One key={edit.id} edit={edit} waiting={data} onCancel={() => void cancel(edit.id)} />
          ),
        )}
      </ul>
    </section>
  );
}

function One({ edit, waiting, onCancel }: { edit: DeferredEdit; waiting: Waiting; onCancel: () => void }) {
  const now = useNow();
  const { id, at, author, operations, failure, tokens_before, tokens_after, when } = edit;
  const saved = tokens_before - tokens_after;
  const isFailed = failure !== null;
  return (
    <li className={styles.one} data-failed={isFailed || undefined} data-deferred={id}>
      {isFailed ? <ExclamationTriangleIcon aria-hidden /> : <ClockIcon aria-hidden />}
      <div className={styles.words}>
        <div className={styles.what} title={`${edit.summary}; requested ${moment(at)}`}>
          <Operations operations={operations} summary={edit.summary} />
          {saved !== 0 && (
            <span className={styles.saved} data-more={saved < 0 || undefined}>
              {saved > 0 ? `−${short(saved)}` : `+${short(-saved)}`}
            </span>
          )}
          {author !== "ui" && <Badge color={author === "policy" ? "grape" : "gray"}>{author}</Badge>}
        </div>
        {isFailed ? (
          <p className={styles.failure} role="alert">
            Not applied: {failure.message} {failure.hint}
          </p>
        ) : (
          <p className={styles.until}>Waits {waitsFor(when, waiting, now)}.</p>
        )}
      </div>
      <Tooltip label={isFailed ? "Hide it; it stays in the history" : "It will not be applied"}>
        <Button
          size="compact-xs"
          variant="default"
          aria-label={isFailed ? `Dismiss ${id}` : `Cancel ${id}`}
          onClick={onCancel}
        >
          {isFailed ? "Dismiss" : "Cancel"}
        </Button>
      </Tooltip>
    </li>
  );
}
