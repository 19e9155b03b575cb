// Of add: who says what, and where.

import { SegmentedControl, Textarea, TextInput } from "@mantine/core";

import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { PlaceSelect } from "./PlaceSelect";

export function AddFields({ conversation, draft: { values }, set }: FieldsProps) {
  return (
    <div className={styles.fields}>
      <Textarea
        className={styles.text ?? ""}
        label="What it says"
        value={values.text ?? ""}
        onChange={({ currentTarget }) => set({ text: currentTarget.value })}
        autosize
        minRows={3}
        maxRows={14}
        size="xs"
        data-autofocus
      />
      <div className={styles.row}>
        <SegmentedControl
          size="xs"
          aria-label="Who says it"
          value={values.role ?? "user"}
          onChange={(role) => set({ role: role as "user" | "assistant" })}
          data={[
            { value: "user", label: "As the user" },
            { value: "assistant", label: "As the model" },
          ]}
        />
        <PlaceSelect conversation={conversation} value={values.to} onChange={(to) => set({ to })} />
        <TextInput
          size="xs"
          label="Title in the lists"
          placeholder="Its first words"
          value={values.title ?? ""}
          onChange={({ currentTarget }) => set({ title: currentTarget.value })}
        />
      </div>
    </div>
  );
}
