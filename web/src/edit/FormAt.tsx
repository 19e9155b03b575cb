// Places the open form: at its frame if the view has room for it there, otherwise in the dock below the views.

import { useEffect, useState, useSyncExternalStore } from "react";

import { WaitingList } from "../waiting/WaitingList";
import styles from "./FormAt.module.css";
import { OperationForm } from "./OperationForm";
import { useStage } from "./stage";
import { Tray } from "./Tray";

let places = 0;
const listeners = new Set<() => void>();

function change(by: number): void {
  places += by;
  for (const listener of listeners) listener();
}

/** The form, if it belongs to this row: a frame's or step's id. */
export function FormAt({ conversation, id }: { conversation: string; id: string }) {
  const { draft } = useStage(conversation);
  const here = draft !== null && draft.anchor === id;
  useEffect(() => {
    if (!here) return;
    change(1);
    return () => change(-1);
  }, [here]);
  return here ? <OperationForm conversation={conversation} /> : null;
}

/** Below the views: deferred edits, the tray, and the form if no view has a place for it. */
export function Dock({ conversation }: { conversation: string }) {
  const { draft } = useStage(conversation);
  const placed = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => places > 0,
  );
  // Rows say whether they have a place once they are drawn. A form drawn here before that would take the keyboard and
  // be gone with it.
  const [settled, setSettled] = useState<string | null>(null);
  const anchor = draft === null ? null : (draft.anchor ?? "");
  useEffect(() => setSettled(anchor), [anchor]);
  return (
    <div className={styles.dock}>
      {draft !== null && !placed && settled === anchor && (
        <div className={styles.form}>
          <OperationForm conversation={conversation} />
        </div>
      )}
      <WaitingList conversation={conversation} />
      <Tray conversation={conversation} />
    </div>
  );
}
