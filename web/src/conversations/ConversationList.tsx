// All conversations the daemon knows, newest activity first, sub-agents under their parents.

import { Button, CloseButton, TextInput, Tooltip } from "@mantine/core";
import { MagnifyingGlassIcon } from "@radix-ui/react-icons";
import { useState } from "react";

import type { Conversation } from "../api";
import { plural, tokens } from "../format/numbers";
import { ago, moment } from "../format/time";
import { useNow } from "../format/useNow";
import { FOLLOW_ACTIVE } from "../route";
import styles from "./ConversationList.module.css";
import { asTree, matching } from "./tree";

interface Props {
  conversations: Conversation[];
  chosen: string | null;
  following: boolean;
  onChoose: (conversation: string) => void;
}

export function ConversationList({ conversations, chosen, following, onChoose }: Props) {
  const [words, setWords] = useState("");
  const now = useNow();
  const entries = asTree(matching(conversations, words));

  return (
    <div className={styles.column}>
      <div className={styles.tools}>
        <TextInput
          size="xs"
          placeholder="Find a conversation"
          aria-label="Find a conversation"
          leftSection={<MagnifyingGlassIcon />}
          rightSection={words !== "" && <CloseButton size="xs" onClick={() => setWords("")} aria-label="Show all" />}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
        {!following && (
          <Button size="compact-xs" variant="default" onClick={() => onChoose(FOLLOW_ACTIVE)}>
            Follow the active one
          </Button>
        )}
      </div>
      <ul className={styles.list}>
        {entries.map(({ conversation, depth }) => (
          <li key={conversation.id}>
            <button
              type="button"
              className={styles.entry}
              data-depth={Math.min(depth, 3)}
              aria-current={conversation.id === chosen}
              onClick={() => onChoose(conversation.id)}
            >
              <span className={styles.first}>
                {conversation.active && (
                  <Tooltip label="Active: the one that was used last">
                    <span className={styles.active} role="img" aria-label="active" />
                  </Tooltip>
                )}
                <bdi className={styles.title}>{conversation.title || "Untitled"}</bdi>
                <time className={styles.when} title={moment(conversation.last_activity)}>
                  {ago(conversation.last_activity, now)}
                </time>
              </span>
              <span className={styles.second}>
                <span className={styles.id}>{conversation.id}</span>
                {conversation.class === "subagent" && <span>sub-agent</span>}
                {conversation.forked_from !== null && <span>fork of {conversation.forked_from}</span>}
                <span>{plural(conversation.frames, "frame")}</span>
                <span className={styles.tokens}>{tokens(conversation.tokens, conversation.calibrated)}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {conversations.length > 0 && entries.length === 0 && <p className={styles.none}>Nothing matches “{words}”.</p>}
    </div>
  );
}
