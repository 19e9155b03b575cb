// The whole context as one bar: a segment per frame, the free part of the window, and a legend.

import type { Frames } from "../api";
import { percent, short, tokens } from "../format/numbers";
import styles from "./CompositionStrip.module.css";
import { legend, segments } from "./shares";

interface Props {
  frames: Frames;
  open: string | null;
  onOpen: (id: string) => void;
}

export function CompositionStrip({ frames, open, onOpen }: Props) {
  const strip = segments(frames.frames, frames.window);
  const openFrame = open?.split(/[/#]/)[0] ?? null;
  return (
    <div className={styles.composition}>
      <div className={styles.strip} role="group" aria-label="Tokens by frame">
        {strip.segments.map(({ id, kind, title, tokens: weight, share }) => {
          const label = `${id}: ${title}, ${short(weight)} tokens, ${percent(share)}`;
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
        {strip.free > 0 && <span className={styles.free} style={{ flexGrow: strip.free }} title="Free" />}
      </div>
      <ul className={styles.legend} aria-label="Legend">
        {legend(frames.frames, frames.window).map(({ kind, label, tokens: weight }) => (
          <li key={kind} data-kind={kind}>
            {label} {tokens(weight, frames.calibrated)}
          </li>
        ))}
      </ul>
    </div>
  );
}
