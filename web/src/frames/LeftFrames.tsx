// Frames that the agent no longer sends after a compaction or a rewind: to read and to restore.

import { Button, Checkbox, Loader, UnstyledButton } from "@mantine/core";
import { ChevronRightIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import { useOperate } from "../edit/useOperate";
import { plural, short } from "../format/numbers";
import { PartProblem } from "../notices/Problem";
import { go } from "../route";
import styles from "./LeftFrames.module.css";
import { LEFT_WORDS, useLeftFrames } from "./useLeftFrames";

interface Props {
  conversation: string;
  count: number;
}

export function LeftFrames({ conversation, count }: Props) {
  const [opened, setOpened] = useState(false);
  if (count === 0) return null;
  return (
    <section className={styles.left} aria-label="Frames no longer sent">
      <UnstyledButton className={styles.head} aria-expanded={opened} onClick={() => setOpened(!opened)}>
        <ChevronRightIcon aria-hidden />
        {plural(count, "frame")} from before a compaction or rewind, no longer sent
      </UnstyledButton>
      {opened && <List conversation={conversation} />}
    </section>
  );
}

function List({ conversation }: { conversation: string }) {
  const { data, error } = useLeftFrames(conversation);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const { operate } = useOperate(conversation);
  if (error !== null) return <PartProblem error={error} />;
  if (data === undefined) return <Loader size="sm" aria-label="Loading" />;
  const inOrder = data.map(({ id }) => id).filter((id) => chosen.includes(id));
  return (
    <>
      <ul className={styles.list}>
        {data.map(({ id, title, tokens, left }) => (
          <li key={id}>
            <Checkbox
              size="xs"
              aria-label={`Select ${id}`}
              checked={chosen.includes(id)}
              onChange={({ currentTarget }) =>
                setChosen(currentTarget.checked ? [...chosen, id] : chosen.filter((one) => one !== id))
              }
            />
            <UnstyledButton className={styles.frame} onClick={() => go({ open: id })}>
              <span className={styles.id}>{id}</span>
              <bdi>{title || "Untitled"}</bdi>
              <span className={styles.quiet}>{LEFT_WORDS[left]}</span>
              <span className={styles.quiet}>{short(tokens)} tokens</span>
            </UnstyledButton>
          </li>
        ))}
      </ul>
      <Button
        size="compact-xs"
        variant="default"
        disabled={inOrder.length === 0}
        onClick={() => operate("import", [], { from: conversation, frames: inOrder, to: { end: true } })}
      >
        Restore {inOrder.length === 0 ? "selected frames" : inOrder.join(", ")}…
      </Button>
    </>
  );
}
