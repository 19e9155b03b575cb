// Another client committed while the user prepared an operation: shows its commits and asks. Nothing is overwritten
// unseen.

import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";

import { getFrames } from "../api";
import { complain } from "../notices/toasts";
import { framesKey } from "../queries";
import { rebase } from "./stage";
import styles from "./edit.module.css";

interface Props {
  conversation: string;
  /** The daemon's message. */
  message: string;
  onAgain?: () => void;
}

export function Stale({ conversation, message, onAgain }: Props) {
  const queries = useQueryClient();
  const lookAgain = async () => {
    try {
      const frames = await queries.fetchQuery({
        queryKey: framesKey(conversation),
        queryFn: () => getFrames(conversation),
        staleTime: 0,
      });
      rebase(conversation, frames.head ?? "none");
      onAgain?.();
    } catch (error) {
      complain(error);
    }
  };
  const [, ...commits] = message.split("\n");
  return (
    <div className={styles.stale} role="alert">
      <p>
        <strong>This conversation has changed since you started.</strong> Your edit was not
        applied.
      </p>
      {commits.length > 0 && (
        <ul>
          {commits.map((commit) => (
            <li key={commit}>{commit.trim()}</li>
          ))}
        </ul>
      )}
      <Button size="compact-xs" variant="default" onClick={() => void lookAgain()}>
        Review with the new price
      </Button>
    </div>
  );
}
