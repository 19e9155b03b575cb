// The form of the operation in progress: what it is done to, its fields, its price, and the ways to end it.

import { Button, CloseButton, Kbd, Tooltip } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { type ComponentType, type FormEvent, useEffect, useRef, useState } from "react";

import { shortcut } from "../palette/keys";
import { useKeys } from "../palette/useKeys";
import { useFrames } from "../queries";
import { asked, type Draft, type Values } from "./draft";
import styles from "./edit.module.css";
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
import { PriceTag } from "./PriceTag";
import { addToStage, changeDraft, closeDraft, useStage } from "./stage";
import { Stale } from "./Stale";
import { inShort } from "./targets";
import { putAside, useOperate } from "./useOperate";
import { isStale, usePrice } from "./usePrice";

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
  const { commit } = useOperate(conversation);
  const { data: frames } = useFrames(conversation);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Error | null>(null);
  const form = useRef<HTMLFormElement>(null);

  const wanted = asked(draft);
  const operations = "operations" in wanted ? wanted.operations : [];
  const [priced] = useDebouncedValue(operations, 200, { leading: true });
  const price = usePrice(conversation, priced, draft.head);
  const stale = isStale(refusal) ? refusal : isStale(price.error) ? price.error : null;
  const entry = entryOf(draft.name);
  const Fields = FIELDS[draft.name];
  const refused = price.error !== null && !price.isFetching && priced === operations;
  const ready = operations.length > 0 && stale === null && !refused && !busy;

  useFocusInside(form);
  useInSight(form);

  const close = () => closeDraft(conversation);
  const cancel = () => {
    close();
    putAside(conversation, draft);
  };

  const make = async () => {
    if (!ready) return;
    setBusy(true);
    try {
      await commit(operations, draft.head);
      close();
    } catch (error) {
      setRefusal(error instanceof Error ? error : new Error(String(error)));
      setBusy(false);
    }
  };

  const put = () => {
    if (!ready) return;
    addToStage(conversation, operations, draft.head);
    close();
  };

  useKeys({ commit: () => void make(), cancel });

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void make();
  };

  return (
    <form
      ref={form}
      className={styles.form}
      aria-label={`${entry.label} ${inShort(draft.targets)}`}
      onSubmit={submit}
      onKeyDown={(event) => {
        // Keys of a form are no business of the list around it.
        if (event.key === "Escape") cancel();
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) event.stopPropagation();
      }}
    >
      <header className={styles.heading}>
        <strong>{entry.label}</strong>
        <span className={styles.ids}>{inShort(draft.targets, 8)}</span>
        <span className={styles.words}>{entry.words}</span>
        <CloseButton size="sm" aria-label="Cancel" onClick={cancel} />
      </header>
      <Fields
        conversation={conversation}
        draft={draft}
        set={(values) => {
          setRefusal(null);
          changeDraft(conversation, values, true);
        }}
        prefill={(values) => changeDraft(conversation, values, false)}
      />
      <footer className={styles.footer}>
        <div className={styles.price}>
          {stale !== null ? (
            <Stale conversation={conversation} message={stale.message} onAgain={() => setRefusal(null)} />
          ) : refusal !== null ? (
            <p className={styles.refusal} role="alert">
              {refusal.message}
            </p>
          ) : "lacks" in wanted ? (
            <span className={styles.lacks}>{wanted.lacks}</span>
          ) : (
            <PriceTag
              conversation={conversation}
              operations={priced}
              head={draft.head}
              calibrated={frames?.calibrated ?? true}
            />
          )}
        </div>
        <div className={styles.buttons}>
          <Button size="xs" variant="subtle" color="gray" onClick={cancel}>
            Cancel
          </Button>
          <Tooltip label="Collect it with others, and make them all at once: the provider reads again only once">
            <Button size="xs" variant="default" disabled={!ready} onClick={put}>
              Add to tray
            </Button>
          </Tooltip>
          <Button
            size="xs"
            type="submit"
            loading={busy}
            disabled={!ready}
            rightSection={ready && <Kbd className={styles.kbd ?? ""}>{shortcut("commit")}</Kbd>}
          >
            {entry.label} now
          </Button>
        </div>
      </footer>
    </form>
  );
}

/** The first field, or else the button that ends it: a key opened the form, a key should do to go on. */
function useFocusInside(form: { current: HTMLFormElement | null }) {
  useEffect(() => {
    const inside = form.current;
    if (inside === null || inside.contains(document.activeElement)) return;
    const field = inside.querySelector<HTMLElement>("[data-autofocus], textarea, input:not([type=checkbox])");
    (field ?? inside.querySelector<HTMLElement>("button[type=submit]"))?.focus({ preventScroll: true });
  }, [form]);
}

/** A form that has just come, or whose fields have, is scrolled into sight; not any more once somebody scrolls. */
function useInSight(form: { current: HTMLFormElement | null }) {
  useEffect(() => {
    const inside = form.current;
    if (inside === null) return;
    const watch = new ResizeObserver(() => inside.scrollIntoView({ block: "nearest" }));
    const stop = () => watch.disconnect();
    watch.observe(inside);
    window.addEventListener("wheel", stop, { once: true, passive: true });
    return () => {
      stop();
      window.removeEventListener("wheel", stop);
    };
  }, [form]);
}
