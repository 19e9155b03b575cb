// Shows the notices of toasts.ts in a row of their own above the status bar, where they cover nothing. A screen reader
// announces them.

import { Button, CloseButton } from "@mantine/core";

import { useLiveEvents } from "../live";
import { WithCode } from "./Problem";
import type { Remark } from "./remarks";
import styles from "./Toasts.module.css";
import { dismiss, settle, useToasts } from "./toasts";

export function Toasts() {
  const toasts = useToasts();
  useLiveEvents((event) => {
    if (event.kind === "commit") settle(event.conversation, event.id);
  });
  return (
    <div className={styles.toasts} role="log" aria-live="polite" aria-label="Notices">
      {toasts.map(({ id, kind, text, hint, remarks, action }) => (
        <div key={id} className={styles.toast} data-kind={kind}>
          <div className={styles.words}>
            <span>{text}</span>
            {hint !== null && (
              <span className={styles.hint}>
                <WithCode text={hint} />
              </span>
            )}
            {remarks.length > 0 && <Remarks remarks={remarks} />}
          </div>
          {action !== null && (
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <CloseButton size="xs" aria-label="Close this notice" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}

/** The number of remarks shown: the notice takes space from the conversation. */
const AT_MOST = 5;

function Remarks({ remarks }: { remarks: readonly Remark[] }) {
  return (
    <ul className={styles.remarks}>
      {remarks.slice(0, AT_MOST).map(({ text, isWarning }, index) => (
        <li key={index} data-warning={isWarning || undefined}>
          <WithCode text={text} />
        </li>
      ))}
      {remarks.length > AT_MOST && <li>and {remarks.length - AT_MOST} more</li>}
    </ul>
  );
}
