// The whole context as one bar: a segment for each frame, and the room left in the model's window.

import type { Frames } from "../api";
import { percent, short } from "../format/numbers";
import styles from "./CompositionStrip.module.css";
import { segments } from "./shares";

interface Props {
  frames: Frames;
  open: string | null;
  onOpen: (id: string) => void;
}

export function CompositionStrip({ frames, open, onOpen }: Props) {
  const strip = segments(frames.frames, frames.window);
  const openFrame = open?.split(/[/#]/)[0] ?? null;
  return (
    <div className={styles.strip} role="group" aria-label="What fills the context">
      {strip.segments.map(({ id, kind, title, tokens, share }) => {
        const label = `${id}: ${title}, ${short(tokens)} tokens, ${percent(share)}`;
        return (
          <button
            key={id}
            type="button"
            className={styles.segment}
            data-kind={kind}
            tabIndex={-1}
            data-open={id === openFrame || undefined}
            style={{ flexGrow: share }}
            title={label}
            aria-label={label}
            onClick={() => onOpen(id)}
          />
        );
      })}
      {strip.free > 0 && <span className={styles.free} style={{ flexGrow: strip.free }} title="Room left" />}
    </div>
  );
}
