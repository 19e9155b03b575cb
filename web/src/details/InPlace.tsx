// A text edited in place: a click makes it a field, Enter saves, Escape cancels.

import { ActionIcon, Textarea, Tooltip } from "@mantine/core";
import { Pencil1Icon } from "@radix-ui/react-icons";
import { type KeyboardEvent, type ReactNode, useState } from "react";

import { line } from "../messages/hidden";
import styles from "./details.module.css";

interface Props {
  /** The kind: "title", "summary". */
  name: string;
  text: string;
  /** Shown where there is no text. */
  empty: string;
  onKeep: (text: string) => Promise<void>;
  /** Beside the pencil. */
  more?: ReactNode;
  heading?: boolean;
  fixed?: boolean;
}

export function InPlace({ name, text, empty, onKeep, more, heading = false, fixed = false }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);

  const close = () => {
    setDraft(null);
    setProblem(null);
  };
  const keep = async () => {
    const words = draft?.trim() ?? "";
    if (words === text.trim() || words === "") return close();
    setBusy(true);
    try {
      await onKeep(words);
      close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const press = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void keep();
    }
  };

  if (draft !== null) {
    return (
      <Textarea
        className={styles.field ?? ""}
        size="xs"
        autosize
        minRows={heading ? 1 : 2}
        maxRows={8}
        aria-label={name}
        data-autofocus
        autoFocus
        value={draft}
        disabled={busy}
        error={problem}
        description={busy ? "Saving…" : "Enter saves, Escape cancels"}
        inputWrapperOrder={["input", "error", "description"]}
        onChange={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={press}
        onFocus={(event) => event.currentTarget.select()}
      />
    );
  }
  const words = (
    <bdi data-empty={text === "" || undefined} onDoubleClick={() => !fixed && setDraft(text)}>
      {text === "" ? empty : line(text)}
    </bdi>
  );
  return (
    <div className={heading ? styles.title : styles.summary}>
      {heading ? <h3>{words}</h3> : <p>{words}</p>}
      {!fixed && (
        <span className={styles.small}>
          <Tooltip label={text === "" ? `Write a ${name}` : `Change the ${name}`}>
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              aria-label={`Change the ${name}`}
              onClick={() => setDraft(text)}
            >
              <Pencil1Icon />
            </ActionIcon>
          </Tooltip>
          {more}
        </span>
      )}
    </div>
  );
}
