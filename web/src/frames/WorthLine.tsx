// The first thing on the workbench: how much of the context is worth removing, with its price. A review puts the plan into
// the tray, where each operation can be looked at and taken out again.

import { Button } from "@mantine/core";
import { useMemo } from "react";

import type { Frames, Operation } from "../api";
import { useStage } from "../edit/stage";
import { useOperate } from "../edit/useOperate";
import { usePrice } from "../edit/usePrice";
import styles from "./frames.module.css";
import { removable, worthWords } from "./worth";

const NOTHING: readonly Operation[] = [];

export function WorthLine({ conversation, frames }: { conversation: string; frames: Frames }) {
  const { stage } = useOperate(conversation);
  const { operations: staged } = useStage(conversation);
  const found = useMemo(() => removable(frames), [frames]);
  const operations = found?.operations ?? NOTHING;
  const { data: plan } = usePrice(conversation, operations, frames.head ?? "none");
  if (found === null || plan === undefined) return null;
  const known = new Set(staged.map((operation) => JSON.stringify(operation)));
  const left = operations.filter((operation) => !known.has(JSON.stringify(operation)));
  return (
    <p className={styles.worth} role="note" aria-label="Worth removing">
      <span>{worthWords(plan)}</span>
      <Button size="compact-xs" variant="light" disabled={left.length === 0} onClick={() => stage(...left)}>
        {left.length === 0 ? "In the tray" : "Review"}
      </Button>
    </p>
  );
}
