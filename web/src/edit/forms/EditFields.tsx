// Fields of edit: a new text, or the messages as sent.

import { Loader, SegmentedControl, Textarea } from "@mantine/core";
import { useEffect } from "react";

import { Editor } from "../../code";
import { useFrame } from "../../queries";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { scopeOf } from "../targets";
import { jsonOf, textOf } from "./contents";

export function EditFields({ conversation, draft, set, prefill }: FieldsProps) {
  const id = draft.targets[0] ?? "";
  const { data: content } = useFrame(conversation, id);
  const { mode = "text", text, json } = draft.values;
  const ready = content?.id === id;

  useEffect(() => {
    if (!ready) return;
    if (text === undefined) prefill({ text: textOf(content) });
    if (json === undefined) prefill({ json: jsonOf(content) });
  }, [ready, content, text, json, prefill]);

  if (text === undefined || json === undefined) return <Loader size="sm" aria-label="Loading" />;
  const many = ["frame", "step"].includes(scopeOf(id));
  return (
    <div className={styles.fields}>
      <div className={styles.row}>
        <SegmentedControl
          size="xs"
          value={mode}
          onChange={(value) => set({ mode: value as "text" | "json" })}
          data={[
            { value: "text", label: "Text" },
            { value: "json", label: "JSON" },
          ]}
          aria-label="Edit as"
        />
        {many && (
          <p className={styles.hint}>
            {mode === "text"
              ? `This text replaces all messages of ${id}.`
              : `The messages of ${id} as sent, without thinking, which cannot be edited.`}
          </p>
        )}
      </div>
      {mode === "text" ? (
        <Textarea
          className={styles.text ?? ""}
          aria-label={`New text of ${id}`}
          value={text}
          onChange={({ currentTarget }) => set({ text: currentTarget.value })}
          autosize
          minRows={4}
          maxRows={18}
          size="xs"
          data-autofocus
        />
      ) : (
        <div onKeyDown={(event) => event.stopPropagation()}>
          <Editor
            text={json}
            language="json"
            label={`Messages of ${id}`}
            onChange={(value) => set({ json: value })}
            onDone={() => document.querySelector<HTMLFormElement>(`form.${styles.form}`)?.requestSubmit()}
          />
        </div>
      )}
    </div>
  );
}
