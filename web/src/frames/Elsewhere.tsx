// Notices for a history that is partly elsewhere: kept by the provider, or edited in the agent's previous format.

import { Button } from "@mantine/core";

import type { Frames } from "../api";
import { useOperate } from "../edit/useOperate";
import styles from "./frames.module.css";
import { movedWords } from "./moved";

interface Props {
  conversation: string;
  frames: Frames;
  past: boolean;
}

export function Elsewhere({ conversation, frames, past }: Props) {
  const { stage } = useOperate(conversation);
  const { elsewhere, moved_from: moved } = frames;
  return (
    <>
      {elsewhere && (
        <p className={styles.note} role="note">
          {elsewhere}
        </p>
      )}
      {!past && moved && (
        <p className={styles.note} role="note">
          {movedWords(moved)}{" "}
          <Button
            size="compact-xs"
            variant="subtle"
            onClick={() => stage({ op: "import", from: moved.conversation, ids: [], edits: true })}
          >
            Carry over
          </Button>
        </p>
      )}
    </>
  );
}
