// Fields of import: frames of another conversation, and the place.

import { Checkbox, Loader, NativeSelect } from "@mantine/core";

import { short } from "../../format/numbers";
import { useConversations, useFrames } from "../../queries";
import { LEFT_STATES, useLeftFrames } from "../../frames/useLeftFrames";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { PlaceSelect } from "./PlaceSelect";

export function ImportFields({ conversation, draft: { values }, set }: FieldsProps) {
  const { data: conversations = [] } = useConversations();
  const others = conversations.filter(({ id, frames }) => id !== conversation && frames > 0);
  const { data: left = [] } = useLeftFrames(conversation);
  if (others.length === 0 && left.length === 0) return <p className={styles.hint}>There is no other conversation to import from.</p>;
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
            ...(left.length === 0 ? [] : [{ value: conversation, label: "This conversation: frames no longer sent" }]),
            ...others.map(({ id, title }) => ({ value: id, label: `${title.slice(0, 60) || "Untitled"} (${id})` })),
          ]}
          data-autofocus
        />
        <PlaceSelect conversation={conversation} value={values.to} onChange={(to) => set({ to })} />
      </div>
      {values.from !== undefined && values.from !== "" && (
        <Choice from={values.from} isOwn={values.from === conversation} chosen={values.frames ?? []} onChoose={(frames) => set({ frames })} />
      )}
    </div>
  );
}

interface ChoiceProps {
  from: string;
  /** From the conversation itself, only frames no longer sent can be imported. */
  isOwn: boolean;
  chosen: string[];
  onChoose: (frames: string[]) => void;
}

function Choice({ from, isOwn, chosen, onChoose }: ChoiceProps) {
  const { data } = useFrames(from);
  const { data: left } = useLeftFrames(from);
  const frames = isOwn ? left : [...(left ?? []), ...(data?.frames ?? [])];
  if (frames === undefined || data === undefined) return <Loader size="sm" aria-label="Loading" />;
  const turns = frames.filter(({ kind }) => kind === "turn");
  return (
    <ul className={styles.list}>
      {turns.map(({ id, title, tokens, state }) => (
        <li key={id}>
          <label className={styles.item}>
            <Checkbox
              size="xs"
              aria-label={`Frame ${id}`}
              checked={chosen.includes(id)}
              onChange={({ currentTarget }) =>
                // In the order of the conversation, not of the clicks.
                onChoose(
                  turns
                    .map((turn) => turn.id)
                    .filter((turn) => (turn === id ? currentTarget.checked : chosen.includes(turn))),
                )
              }
            />
            <span className={styles.id}>{id}</span>
            <bdi>{title}</bdi>
            {state.some((one) => LEFT_STATES.includes(one)) && <span className={styles.size}>no longer sent</span>}
            <span className={styles.size}>{short(tokens)}</span>
          </label>
        </li>
      ))}
    </ul>
  );
}
