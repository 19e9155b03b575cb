// Fields of move: a list of places.

import { useFrames } from "../../queries";
import styles from "../edit.module.css";
import type { FieldsProps } from "../OperationForm";
import { placesOf, sameWhere } from "./places";

export function MoveFields({ conversation, draft, set }: FieldsProps) {
  const { data: frames } = useFrames(conversation);
  const places = frames === undefined ? [] : placesOf(frames, draft.targets);
  const first = places.findIndex(({ here }) => !here);
  return (
    <div className={styles.list} role="radiogroup" aria-label="New place">
      {places.map(({ value, to, after, here }, index) => {
        const chosen = sameWhere(draft.values.to, to);
        return (
          <button
            key={value}
            type="button"
            role="radio"
            aria-checked={chosen}
            className={styles.item}
            data-chosen={chosen || undefined}
            data-still={here || undefined}
            disabled={here}
            {...(index === first ? { "data-autofocus": true } : {})}
            onClick={() => set({ to })}
          >
            {after === null ? (
              <bdi>At the start</bdi>
            ) : (
              <>
                <span className={styles.id}>{after.id}</span>
                <bdi>after “{after.title}”</bdi>
              </>
            )}
            {here && <span className={styles.size}>current place</span>}
          </button>
        );
      })}
    </div>
  );
}
