// Fields of retitle: the title and the summary in the lists.

import { Button, Textarea, TextInput } from "@mantine/core";
import { useEffect } from "react";

import { preview } from "../../api";
import { AskHelper } from "../../helper/AskHelper";
import { complain } from "../../notices/toasts";
import { useFrames } from "../../queries";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";

export function RetitleFields({ conversation, draft, set, prefill }: FieldsProps) {
  const id = draft.targets[0] ?? "";
  const { data: frames } = useFrames(conversation);
  const frame = frames?.frames.find((one) => one.id === id);
  const { title, summary } = draft.values;

  useEffect(() => {
    if (title === undefined && frame !== undefined) prefill({ title: frame.title, summary: frame.summary ?? "" });
  }, [title, frame, prefill]);

  const auto = { op: "retitle" as const, id, auto: true };
  const find = async () => {
    try {
      const found = (await preview(conversation, { operations: [auto] })).written?.[0];
      if (found !== undefined) set({ title: found.text });
    } catch (error) {
      complain(error);
    }
  };

  return (
    <div className={styles.fields}>
      <TextInput
        size="xs"
        label="Title"
        value={title ?? ""}
        onChange={({ currentTarget }) => set({ title: currentTarget.value })}
        data-autofocus
      />
      <Textarea
        size="xs"
        label="Summary"
        value={summary ?? ""}
        onChange={({ currentTarget }) => set({ summary: currentTarget.value })}
        autosize
        minRows={1}
        maxRows={6}
      />
      <div className={styles.row}>
        <Button size="compact-xs" variant="default" onClick={() => void find()}>
          Suggest a title
        </Button>
        <AskHelper
          conversation={conversation}
          operations={[auto]}
          stopWhenGone
          onDone={({ written }) => set(written?.[0] === undefined ? {} : { title: written[0].text })}
        />
      </div>
    </div>
  );
}
