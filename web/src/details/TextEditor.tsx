// Edits a message in place: its part, the text, the price, and the buttons.

import { Select } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import type { Frames } from "../api";
import { Editor } from "../code";
import { FormFoot } from "../edit/FormFoot";
import { useMaking } from "../edit/useMaking";
import { useHoldsKeys } from "../palette/useKeys";
import { framesKey } from "../queries";
import styles from "./details.module.css";
import { type Choice, operationOf } from "./editing";
import type { TextDraft } from "./useDraft";

interface Props {
  conversation: string;
  draft: TextDraft;
  choices: readonly Choice[];
  onChange: (draft: TextDraft | null) => void;
}

export function TextEditor(props: Props) {
  const { choices, draft } = props;
  const choice = choices.find(({ id, kind }) => key(id, kind) === draft.choice) ?? choices[0];
  return choice === undefined ? null : <Writing {...props} choice={choice} />;
}

function Writing({ conversation, draft, choices, choice, onChange }: Props & { choice: Choice }) {
  const queries = useQueryClient();
  useHoldsKeys();
  const { id, kind, text } = choice;
  const operations = useMemo(() => {
    const operation = operationOf({ id, kind, text, label: "" }, draft.text);
    return operation === null ? [] : [operation];
  }, [id, kind, text, draft.text]);
  const close = () => onChange(null);
  const making = useMaking({ conversation, operations, head: draft.head, onDone: close });

  const choose = (wanted: string | null) => {
    const next = choices.find((one) => key(one.id, one.kind) === wanted);
    if (next !== undefined) onChange({ ...draft, choice: key(next.id, next.kind), text: next.text });
  };

  return (
    <form
      className={styles.editing}
      aria-label={`Edit ${id}`}
      onSubmit={(event) => {
        event.preventDefault();
        void making.make();
      }}
    >
      {choices.length > 1 && (
        <Select
          size="xs"
          aria-label="Part to edit"
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
          data={choices.map((one) => ({ value: key(one.id, one.kind), label: one.label }))}
          value={draft.choice}
          onChange={choose}
        />
      )}
      {choice.note !== undefined && <p className={styles.note}>{choice.note}</p>}
      <Editor
        key={draft.choice}
        text={draft.text}
        language={kind === "json" ? "json" : "text"}
        label={choice.label}
        onChange={(words) => {
          making.again();
          onChange({ ...draft, text: words });
        }}
        onDone={() => void making.make()}
        onCancel={close}
      />
      <FormFoot
        conversation={conversation}
        head={draft.head}
        making={making}
        label="Save"
        onCancel={close}
        onAgain={() => {
          // The newest fetched content; the list drawn here may be older.
          const now = queries.getQueryData<Frames>(framesKey(conversation));
          onChange({ ...draft, head: now?.head ?? "none" });
        }}
      />
    </form>
  );
}

/** A message can be edited as words and as JSON under the same id. */
export function key(id: string, kind: Choice["kind"]): string {
  return `${kind} ${id}`;
}
