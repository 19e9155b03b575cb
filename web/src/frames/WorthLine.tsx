// The first line of the frames: the share of the context worth removing, with its price. A review puts the plan into
// the tray, operation by operation.

import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { getWorth } from "../api/more";
import { useStage } from "../edit/stage";
import { useOperate } from "../edit/useOperate";
import { keys } from "../queries";
import styles from "./frames.module.css";

export function WorthLine({ conversation }: { conversation: string }) {
  const { stage } = useOperate(conversation);
  const { operations } = useStage(conversation);
  const { data: worth } = useQuery({
    queryKey: [...keys.conversation(conversation), "worth"],
    queryFn: () => getWorth(conversation),
  });
  if (worth == null) return null;
  const staged = new Set(operations.map((operation) => JSON.stringify(operation)));
  const left = worth.operations.filter((operation) => !staged.has(JSON.stringify(operation)));
  return (
    <p className={styles.worth} role="note" aria-label="Worth removing">
      <span>{worth.words}</span>
      <Button size="compact-xs" variant="light" disabled={left.length === 0} onClick={() => stage(...left)}>
        {left.length === 0 ? "In the tray" : "Review"}
      </Button>
    </p>
  );
}
