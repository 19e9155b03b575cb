// Of import: frames of another conversation, and where they go.

import { Checkbox, Loader, NativeSelect } from "@mantine/core";

import { short } from "../../format/numbers";
import { useConversations, useFrames } from "../../queries";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { PlaceSelect } from "./PlaceSelect";

export function ImportFields({ conversation, draft: { values }, set }: FieldsProps) {
  const { data: conversations = [] } = useConversations();
  const others = conversations.filter(({ id, frames }) => id !== conversation && frames > 0);
  if (others.length === 0) return <p className={styles.hint}>There is no other conversation to copy from.</p>;
  return (
    <div className={styles.fields}>
      <div className={styles.row}>
        <NativeSelect
          size="xs"
          label="From"
          value={values.from ?? ""}
          onChange={({ currentTarget }) => set({ from: currentTarget.value, frames: [] })}
          data={[
            { value: "", label: "Select a conversation", disabled: true },
            ...others.map(({ id, title }) => ({ value: id, label: `${title.slice(0, 60) || "Untitled"} (${id})` })),
          ]}
          data-autofocus
        />
        <PlaceSelect conversation={conversation} value={values.to} onChange={(to) => set({ to })} />
      </div>
      {values.from !== undefined && values.from !== "" && (
        <Choice from={values.from} chosen={values.frames ?? []} onChoose={(frames) => set({ frames })} />
      )}
    </div>
  );
}

interface ChoiceProps {
  from: string;
  chosen: string[];
  onChoose: (frames: string[]) => void;
}

function Choice({ from, chosen, onChoose }: ChoiceProps) {
  const { data } = useFrames(from);
  if (data === undefined) return <Loader size="sm" aria-label="Loading" />;
  const turns = data.frames.filter(({ kind }) => kind === "turn");
  return (
    <ul className={styles.list}>
      {turns.map(({ id, title, tokens }) => (
        <li key={id}>
          <label className={styles.item}>
            <Checkbox
              size="xs"
              aria-label={`Frame ${id}`}
              checked={chosen.includes(id)}
              onChange={({ currentTarget }) =>
                // In the order of the conversation, whatever the order of the clicks.
                onChoose(
                  turns
                    .map((turn) => turn.id)
                    .filter((turn) => (turn === id ? currentTarget.checked : chosen.includes(turn))),
                )
              }
            />
            <span className={styles.id}>{id}</span>
            <bdi>{title}</bdi>
            <span className={styles.size}>{short(tokens)}</span>
          </label>
        </li>
      ))}
    </ul>
  );
}
