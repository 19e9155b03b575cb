// Shows the short words of toasts.ts in a row of the page of their own, above the status bar: they cover nothing. A screen
// reader reads them out.

import { Button, CloseButton } from "@mantine/core";

import { useLiveEvents } from "../live";
import { WithCode } from "./Problem";
import styles from "./Toasts.module.css";
import { dismiss, settle, useToasts } from "./toasts";

export function Toasts() {
  const toasts = useToasts();
  useLiveEvents((event) => {
    if (event.kind === "commit") settle(event.conversation, event.id);
  });
  return (
    <div className={styles.toasts} role="log" aria-live="polite" aria-label="What happened">
      {toasts.map(({ id, kind, text, hint, action }) => (
        <div key={id} className={styles.toast} data-kind={kind}>
          <div className={styles.words}>
            <span>{text}</span>
            {hint !== null && (
              <span className={styles.hint}>
                <WithCode text={hint} />
              </span>
            )}
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
