// Following the active conversation: the switch in the header, and a notice when another conversation becomes active
// while this page does not follow.

import { Button, CloseButton, Tooltip } from "@mantine/core";
import { useState } from "react";

import type { Conversation } from "../api";
import { FOLLOW_ACTIVE, go } from "../route";
import styles from "./Follow.module.css";

interface Props {
  conversations: readonly Conversation[];
  /** The conversation on the screen. */
  shown: Conversation | undefined;
  following: boolean;
}

export function Follow({ conversations, shown, following }: Props) {
  const active = conversations.find((one) => one.active);
  return (
    <>
      {!following && <NowActive key={shown?.id} active={active} shown={shown} />}
      <Tooltip
        label={
          following
            ? "The page follows the most recently used conversation until you click, select or edit something."
            : "Follow the most recently used conversation"
        }
      >
        <Button
          className={styles.switch ?? ""}
          size="compact-xs"
          variant={following ? "light" : "default"}
          aria-pressed={following}
          disabled={shown === undefined && following}
          onClick={() => go({ conversation: following ? (shown?.id ?? FOLLOW_ACTIVE) : FOLLOW_ACTIVE, open: null, at: null })}
        >
          {following && <span className={styles.dot} aria-hidden />}
          {following ? "Following" : "Follow"}
          <span className={styles.more}>{" the active conversation"}</span>
        </Button>
      </Tooltip>
    </>
  );
}

interface NowActiveProps {
  active: Conversation | undefined;
  shown: Conversation | undefined;
}

/** Says that another conversation has become active since this one was shown. */
function NowActive({ active, shown }: NowActiveProps) {
  const [known, setKnown] = useState(active?.id);
  const isNews = active !== undefined && shown !== undefined && active.id !== known && active.id !== shown.id;
  // Back on the one that is shown: the next change is news again.
  if (active !== undefined && active.id === shown?.id && known !== active.id) setKnown(active.id);
  return (
    <span className={styles.notice} role="status">
      {isNews && (
        <>
          <span className={styles.words}>
            Now active: <bdi>{active.title || "Untitled"}</bdi>
          </span>
          <Button
            size="compact-xs"
            variant="subtle"
            onClick={() => go({ conversation: active.id, open: null, at: null })}
          >
            Show
          </Button>
          <CloseButton size="xs" aria-label="Dismiss" onClick={() => setKnown(active.id)} />
        </>
      )}
    </span>
  );
}
