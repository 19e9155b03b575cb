// Fields of combine: the frames and their order.

import { short } from "../../format/numbers";
import { useFrames } from "../../queries";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { targetsOf } from "../targets";

export function CombineFields({ conversation, draft }: FieldsProps) {
  const { data: frames } = useFrames(conversation);
  const targets = frames === undefined ? [] : targetsOf(draft.targets, frames);
  return (
    <div className={styles.fields}>
      <p className={styles.hint}>One frame with all their messages, in place of the first:</p>
      <ol className={styles.list}>
        {targets.map(({ id, title, tokens }) => (
          <li key={id} className={styles.item}>
            <span className={styles.id}>{id}</span>
            <bdi>{title}</bdi>
            <span className={styles.size}>{short(tokens)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
