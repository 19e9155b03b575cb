// The operations of a deferred edit, with their targets.

import type { DeferredEdit } from "../api";
import { entryOf } from "../edit/operations";
import { inShort } from "../edit/targets";
import { targetsOf, withWhat } from "../history/operations";
import styles from "./waiting.module.css";

export function Operations({ operations, summary }: Pick<DeferredEdit, "operations" | "summary">) {
  // A deferred revert has none.
  if (operations.length === 0) return <span className={styles.operation}>{summary}</span>;
  return operations.map((operation, index) => (
    <span key={index} className={styles.operation}>
      <strong>{entryOf(operation.op).label}</strong> <span className={styles.ids}>{inShort(targetsOf(operation))}</span>{" "}
      <bdi className={styles.with}>{withWhat(operation)}</bdi>
    </span>
  ));
}
