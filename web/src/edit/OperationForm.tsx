// The form of an operation: targets, fields, price and buttons.

import { CloseButton } from "@mantine/core";
import { type ComponentType, useMemo, useRef } from "react";

import type { Operation } from "../api";
import { useHoldsKeys, useKeys } from "../palette/useKeys";
import { asked, type Draft, type Values } from "./draft";
import styles from "./edit.module.css";
import { FormFoot } from "./FormFoot";
import { AddFields } from "./forms/AddFields";
import { CombineFields } from "./forms/CombineFields";
import { DeleteFields } from "./forms/DeleteFields";
import { EditFields } from "./forms/EditFields";
import { ImportFields } from "./forms/ImportFields";
import { MoveFields } from "./forms/MoveFields";
import { ResultsFields } from "./forms/ResultsFields";
import { RetitleFields } from "./forms/RetitleFields";
import { SplitFields } from "./forms/SplitFields";
import { SummaryFields } from "./forms/SummaryFields";
import { entryOf } from "./operations";
import { changeDraft, closeDraft, setWhen, useStage } from "./stage";
import { inShort } from "./targets";
import { useFormFocus, useInSight } from "./useFormFocus";
import { useMaking } from "./useMaking";
import { putAside } from "./useOperate";

const NOTHING: readonly Operation[] = [];

export interface FieldsProps {
  conversation: string;
  draft: Draft;
  set: (values: Partial<Values>) => void;
  /** The same for what the form begins with. */
  prefill: (values: Partial<Values>) => void;
}

const FIELDS: Record<Draft["name"], ComponentType<FieldsProps>> = {
  delete: DeleteFields,
  edit: EditFields,
  compact: SummaryFields,
  offload: SummaryFields,
  restore: () => null,
  move: MoveFields,
  add: AddFields,
  combine: CombineFields,
  split: SplitFields,
  "drop-results": ResultsFields,
  "summarize-results": ResultsFields,
  retitle: RetitleFields,
  pin: () => null,
  unpin: () => null,
  import: ImportFields,
};

/** Draws the operation in progress, if there is one. */
export function OperationForm({ conversation }: { conversation: string }) {
  const { draft } = useStage(conversation);
  if (draft === null) return null;
  return <Form key={`${draft.name} ${draft.targets.join()}`} conversation={conversation} draft={draft} />;
}

function Form({ conversation, draft }: { conversation: string; draft: Draft }) {
  const form = useRef<HTMLFormElement>(null);
  const wanted = useMemo(() => asked(draft), [draft]);
  const close = () => closeDraft(conversation);
  const entry = entryOf(draft.name);
  // An edit that does not change the request is free at any time.
  const canWait = entry.group !== "display";
  const when = (canWait ? draft.when : undefined) ?? "now";
  const making = useMaking({
    conversation,
    operations: "operations" in wanted ? wanted.operations : NOTHING,
    head: draft.head,
    when,
    onDone: close,
  });
  const Fields = FIELDS[draft.name];

  useHoldsKeys();
  useFormFocus(form);
  useInSight(form);

  const cancel = () => {
    close();
    putAside(conversation, draft);
  };
  useKeys({ commit: () => void making.make(), cancel });

  return (
    <form
      ref={form}
      tabIndex={-1}
      className={styles.form}
      aria-label={`${entry.label} ${inShort(draft.targets)}`}
      onSubmit={(event) => {
        event.preventDefault();
        void making.make();
      }}
      onKeyDown={(event) => {
        // Keys pressed in a form must not reach the list around it.
        if (event.key === "Escape") cancel();
        // A form without fields has the focus itself.
        if (event.key === "Enter" && event.target === event.currentTarget) void making.make();
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) event.stopPropagation();
      }}
    >
      <header className={styles.heading}>
        <strong>{entry.label}</strong>
        <span className={styles.ids}>{inShort(draft.targets, 8)}</span>
        <span className={styles.words}>{entry.words}</span>
        <CloseButton size="sm" aria-label="Cancel" onClick={cancel} />
      </header>
      <div data-fields className={styles.inside}>
        <Fields
          conversation={conversation}
          draft={draft}
          set={(values) => {
            making.again();
            changeDraft(conversation, values, true);
          }}
          prefill={(values) => changeDraft(conversation, values, false)}
        />
      </div>
      <FormFoot
        conversation={conversation}
        head={draft.head}
        making={making}
        lacks={"lacks" in wanted ? wanted.lacks : null}
        label={`${entry.label} ${when === "now" ? "now" : "later"}`}
        when={when}
        {...(canWait ? { onWhen: (moment) => setWhen(conversation, "draft", moment) } : {})}
        onCancel={cancel}
      />
    </form>
  );
}
