// Fields of compact and offload: the summary, with a suggestion.

import { Textarea } from "@mantine/core";
import { useEffect } from "react";

import type { Operation } from "../../api";
import { AskHelper } from "../../helper/AskHelper";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { useWords } from "./useWords";

export function SummaryFields({ conversation, draft, set, prefill }: FieldsProps) {
  // The words for an offload are those of a summary; its own dry run finds none.
  const wanted: Operation = { op: "compact", ids: draft.targets };
  const untouched = draft.values.text === undefined;
  const found = useWords(conversation, wanted, untouched);
  const words = found.data?.map(({ text }) => text).join("\n\n");

  useEffect(() => {
    if (untouched && words !== undefined) prefill({ text: words });
  }, [untouched, words, prefill]);

  const offload = draft.name === "offload";
  return (
    <div className={styles.fields}>
      <Textarea
        className={styles.text ?? ""}
        label={offload ? "Summary in the note" : "Summary"}
        placeholder={found.isFetching ? "Writing a summary…" : offload ? "If empty, the note shows the title" : ""}
        value={draft.values.text ?? ""}
        onChange={({ currentTarget }) => set({ text: currentTarget.value })}
        autosize
        minRows={3}
        maxRows={14}
        size="xs"
        data-autofocus
      />
      <div className={styles.row}>
        <AskHelper
          conversation={conversation}
          operations={[wanted]}
          stopWhenGone
          onDone={({ written }) => set({ text: (written ?? []).map(({ text }) => text).join("\n\n") })}
        />
        {draft.targets.length > 1 && !offload && (
          <p className={styles.hint}>All {draft.targets.length} become one summary, in place of the first.</p>
        )}
      </div>
    </div>
  );
}
