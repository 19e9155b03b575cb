// One row a frame, opening into its steps; a click on a row shows its messages.

import { ActionIcon, Tooltip } from "@mantine/core";
import { ChevronRightIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Frames } from "../api";
import styles from "./FrameList.module.css";
import { FrameRow } from "./FrameRow";
import { barLengths } from "./shares";

interface Props {
  frames: Frames;
  open: string | null;
  onOpen: (id: string) => void;
}

export function FrameList({ frames, open, onOpen }: Props) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(() => new Set(frameOfOpenStep(open)));
  const lengths = barLengths(frames.frames.map(({ tokens }) => tokens));
  const withSteps = frames.frames.filter(({ step_list }) => (step_list?.length ?? 0) > 0).map(({ id }) => id);
  const allUnfolded = withSteps.length > 0 && withSteps.every((id) => unfolded.has(id));

  const toggle = (id: string) => {
    const next = new Set(unfolded);
    if (!next.delete(id)) next.add(id);
    setUnfolded(next);
  };

  const toggleAll = () => setUnfolded(new Set(allUnfolded ? [] : withSteps));

  return (
    <section className={styles.frames} aria-label="Frames">
      <div className={styles.head}>
        {withSteps.length > 0 && <UnfoldAll unfolded={allUnfolded} onToggle={toggleAll} />}
        <span>Frame</span>
        <span>Title</span>
        <span className={styles.number}>Steps</span>
        <span className={styles.number}>
          <Tooltip label="Estimated; exact once the provider has counted" disabled={frames.calibrated}>
            <span>Tokens</span>
          </Tooltip>
        </span>
        <span className={styles.share}>Share</span>
      </div>
      <ul className={styles.rows}>
        {frames.frames.map((frame, index) => (
          <FrameRow
            key={frame.id}
            frame={frame}
            total={frames.tokens}
            calibrated={frames.calibrated}
            length={lengths[index] ?? 0}
            unfolded={unfolded.has(frame.id)}
            open={open}
            onUnfold={() => toggle(frame.id)}
            onOpen={onOpen}
          />
        ))}
      </ul>
    </section>
  );
}

function UnfoldAll({ unfolded, onToggle }: { unfolded: boolean; onToggle: () => void }) {
  const label = unfolded ? "Fold all steps" : "Unfold all steps";
  return (
    <Tooltip label={label}>
      <ActionIcon
        size={18}
        variant="subtle"
        color="gray"
        className={styles.unfold ?? ""}
        aria-label={label}
        aria-expanded={unfolded}
        onClick={onToggle}
      >
        <ChevronRightIcon />
      </ActionIcon>
    </Tooltip>
  );
}

/** A link to a step shows the step. */
function frameOfOpenStep(open: string | null): string[] {
  const frame = open?.match(/^(t\d+)\//)?.[1];
  return frame === undefined ? [] : [frame];
}
