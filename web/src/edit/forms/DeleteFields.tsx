// Fields of delete: the targets, and whether to delete content that the client needs.

import { Checkbox } from "@mantine/core";

import { short } from "../../format/numbers";
import { useFrames } from "../../queries";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { targetsOf } from "../targets";

export function DeleteFields({ conversation, draft, set }: FieldsProps) {
  const { data: frames } = useFrames(conversation);
  const targets = frames === undefined ? [] : targetsOf(draft.targets, frames);
  return (
    <div className={styles.fields}>
      {targets.length > 1 && (
        <ul className={styles.list}>
          {targets.map(({ id, title, tokens }) => (
            <li key={id} className={styles.item}>
              <span className={styles.id}>{id}</span>
              <bdi>{title}</bdi>
              <span className={styles.size}>{short(tokens)}</span>
            </li>
          ))}
        </ul>
      )}
      {draft.targets.some((id) => id.startsWith("system")) && (
        <Checkbox
          size="xs"
          label="Also delete the blocks that identify the agent to the provider"
          checked={draft.values.force ?? false}
          onChange={({ currentTarget }) => set({ force: currentTarget.checked })}
        />
      )}
    </div>
  );
}
