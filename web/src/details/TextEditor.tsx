// Writing a message anew, where it stands: what of it, the text, its price, and the ways to end it.

import { Button, Kbd, Select, Tooltip } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Frames } from "../api";
import { Editor } from "../code";
import { PriceTag } from "../edit/PriceTag";
import { Stale } from "../edit/Stale";
import { addToStage } from "../edit/stage";
import { isStale, usePrice } from "../edit/usePrice";
import { useOperate } from "../edit/useOperate";
import { Problem } from "../notices/Problem";
import { shortcut } from "../palette/keys";
import { framesKey, useFrames } from "../queries";
import styles from "./details.module.css";
import { type Choice, operationOf } from "./editing";
import type { TextDraft } from "./useDraft";

interface Props {
  conversation: string;
  draft: TextDraft;
  choices: readonly Choice[];
  onChange: (draft: TextDraft | null) => void;
}

export function TextEditor({ conversation, draft, choices, onChange }: Props) {
  const { commit } = useOperate(conversation);
  const { data: frames } = useFrames(conversation);
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Error | null>(null);
  const choice = choices.find(({ id, kind }) => key(id, kind) === draft.choice) ?? choices[0];
  const operation = choice === undefined ? null : operationOf(choice, draft.text);
  const operations = operation === null ? [] : [operation];
  const [priced] = useDebouncedValue(operations, 250);
  const price = usePrice(conversation, priced, draft.head);
  const stale = isStale(refusal) ? refusal : isStale(price.error) ? price.error : null;
  const ready = operation !== null && stale === null && !busy;
  if (choice === undefined) return null;

  const close = () => onChange(null);
  const choose = (wanted: string | null) => {
    const next = choices.find(({ id, kind }) => key(id, kind) === wanted);
    if (next !== undefined) onChange({ ...draft, choice: key(next.id, next.kind), text: next.text });
  };
  const make = async () => {
    if (!ready) return;
    setBusy(true);
    setRefusal(null);
    try {
      await commit(operations, draft.head);
      close();
    } catch (error) {
      setRefusal(error instanceof Error ? error : new Error(String(error)));
      setBusy(false);
    }
  };
  const stage = () => {
    if (!ready) return;
    addToStage(conversation, operations, draft.head);
    close();
  };

  return (
    <form
      className={styles.editing}
      aria-label={`Edit ${choice.id}`}
      onSubmit={(event) => {
        event.preventDefault();
        void make();
      }}
    >
      {choices.length > 1 && (
        <Select
          size="xs"
          aria-label="What to write anew"
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
          data={choices.map(({ id, kind, label }) => ({ value: key(id, kind), label }))}
          value={draft.choice}
          onChange={choose}
        />
      )}
      {choice.note !== undefined && <p className={styles.note}>{choice.note}</p>}
      <Editor
        key={draft.choice}
        text={draft.text}
        language={choice.kind === "json" ? "json" : "text"}
        label={choice.label}
        onChange={(text) => {
          setRefusal(null);
          onChange({ ...draft, text });
        }}
        onDone={() => void make()}
        onCancel={close}
      />
      {stale !== null ? (
        <Stale
          conversation={conversation}
          message={stale.message}
          onAgain={() => {
            setRefusal(null);
            // What was fetched a moment ago; the list drawn here may be older.
            const now = queries.getQueryData<Frames>(framesKey(conversation));
            onChange({ ...draft, head: now?.head ?? "none" });
          }}
        />
      ) : refusal !== null ? (
        <Problem error={refusal} />
      ) : (
        <div className={styles.price}>
          <PriceTag
            conversation={conversation}
            operations={priced}
            head={draft.head}
            calibrated={frames?.calibrated ?? true}
          />
        </div>
      )}
      <div className={styles.buttons}>
        <Button size="compact-xs" variant="subtle" color="gray" onClick={close}>
          Cancel
        </Button>
        <Tooltip label="Collect it with others, and make them all at once: the provider reads again only once">
          <Button size="compact-xs" variant="default" disabled={!ready} onClick={stage}>
            Add to tray
          </Button>
        </Tooltip>
        <Button
          size="compact-xs"
          type="submit"
          loading={busy}
          disabled={!ready}
          rightSection={<Kbd className={styles.kbd ?? ""}>{shortcut("commit")}</Kbd>}
        >
          Save
        </Button>
      </div>
    </form>
  );
}

/** A message can be edited as words and as JSON under the same id. */
export function key(id: string, kind: Choice["kind"]): string {
  return `${kind} ${id}`;
}
