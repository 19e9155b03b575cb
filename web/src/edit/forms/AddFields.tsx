// Fields of add: role, text and place.

import { SegmentedControl, Textarea, TextInput } from "@mantine/core";

import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { PlaceSelect } from "./PlaceSelect";

export function AddFields({ conversation, draft: { values }, set }: FieldsProps) {
  return (
    <div className={styles.fields}>
      <Textarea
        className={styles.text ?? ""}
        label="Text"
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
          aria-label="Role"
          value={values.role ?? "user"}
          onChange={(role) => set({ role: role as "user" | "assistant" })}
          data={[
            { value: "user", label: "User" },
            { value: "assistant", label: "Assistant" },
          ]}
        />
        <PlaceSelect conversation={conversation} value={values.to} onChange={(to) => set({ to })} />
        <TextInput
          size="xs"
          label="Title"
          placeholder="First words of the text"
          value={values.title ?? ""}
          onChange={({ currentTarget }) => set({ title: currentTarget.value })}
        />
      </div>
    </div>
  );
}
