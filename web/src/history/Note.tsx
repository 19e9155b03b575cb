// A line of the history that is neither a commit nor a request.

import { clock, moment } from "../format/time";
import styles from "./HistoryView.module.css";

export function Note({ at, children }: { at: number; children: React.ReactNode }) {
  return (
    <div className={styles.note}>
      <time className={styles.time} title={moment(at)}>
        {clock(at)}
      </time>
      <span>{children}</span>
    </div>
  );
}
