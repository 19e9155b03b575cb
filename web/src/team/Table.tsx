// A plain table with heads, and a text if it is empty.

import type { ReactNode } from "react";

import { ago, moment } from "../format/time";
import { useNow } from "../format/useNow";
import styles from "./team.module.css";

interface Props {
  label: string;
  heads: readonly string[];
  empty: string;
  isEmpty: boolean;
  children: ReactNode;
}

export function Table({ label, heads, empty, isEmpty, children }: Props) {
  if (isEmpty) return <p className={styles.empty}>{empty}</p>;
  return (
    <div className={styles.frame}>
      <table className={styles.table} aria-label={label}>
        <thead>
          <tr>
            {heads.map((head, index) => (
              <th key={index} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** The age, with the time as a tooltip. */
export function When({ at, never = "never" }: { at: number | null | undefined; never?: string }) {
  const now = useNow();
  if (at == null) return <span className={styles.faint}>{never}</span>;
  return <time title={moment(at)}>{ago(at, now)}</time>;
}
