// All conversations, newest activity first, sub-agents below their parents. The search field finds titles at once and
// full text a moment later.

import { CloseButton, TextInput, Tooltip, UnstyledButton } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { MagnifyingGlassIcon } from "@radix-ui/react-icons";
import { useRef, useState } from "react";

import type { Conversation } from "../api";
import { plural, tokens } from "../format/numbers";
import { ago, moment } from "../format/time";
import { useNow } from "../format/useNow";
import { go } from "../route";
import styles from "./ConversationList.module.css";
import { agentName, folderName } from "./names";
import { SearchHits } from "./SearchHits";
import { sideLines, sideRequests } from "./sides";
import { asTree, matching, shownByDefault } from "./tree";

interface Props {
  conversations: Conversation[];
  chosen: string | null;
  onChoose: (conversation: string) => void;
}

export function ConversationList({ conversations, chosen, onChoose }: Props) {
  const [words, setWords] = useState("");
  const [allShown, setAllShown] = useState(false);
  const [searched] = useDebouncedValue(words.trim(), 250);
  const scroll = useRef<HTMLDivElement>(null);
  const now = useNow();
  const usual = conversations.filter((one) => shownByDefault(one) || one.id === chosen);
  const hidden = conversations.length - usual.length + sideRequests(conversations);
  const entries = asTree(matching(allShown ? conversations : usual, words));

  return (
    <div className={styles.column} onKeyDown={(event) => walk(event, scroll.current)}>
      <div className={styles.tools}>
        <TextInput
          size="xs"
          placeholder="Search conversations and text"
          aria-label="Search conversations and text"
          data-search
          leftSection={<MagnifyingGlassIcon />}
          rightSection={words !== "" && <CloseButton size="xs" onClick={() => setWords("")} aria-label="Show all" />}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") setWords("");
            else if (event.key === "Enter") scroll.current?.querySelector("button")?.click();
          }}
        />
      </div>
      <div className={styles.scroll} ref={scroll}>
        <ul className={styles.list} aria-label="Conversations">
          {entries.map(({ conversation, depth }) => (
            <li key={conversation.id}>
              <EntryButton
                conversation={conversation}
                depth={depth}
                now={now}
                current={conversation.id === chosen}
                onChoose={onChoose}
              />
              {allShown && <Sides conversation={conversation} depth={depth} now={now} onChoose={onChoose} />}
            </li>
          ))}
        </ul>
        {conversations.length > 0 && entries.length === 0 && (
          <p className={styles.none}>No conversation matches “{words}”.</p>
        )}
        {words.trim().length >= 2 && (
          <SearchHits
            words={searched}
            onOpen={(conversation, open) => {
              onChoose(conversation);
              go({ conversation, open, at: null });
            }}
          />
        )}
        {hidden > 0 && (
          <Tooltip label="Side requests of agents, such as titles and suggestions. They are not part of a conversation.">
            <UnstyledButton className={styles.hidden} aria-pressed={allShown} onClick={() => setAllShown(!allShown)}>
              {allShown ? "Hide side traffic" : `Show side traffic (${plural(hidden, "request")})`}
            </UnstyledButton>
          </Tooltip>
        )}
      </div>
    </div>
  );
}

/** Arrow keys go from the field into the list, and through it. */
function walk(event: React.KeyboardEvent, list: HTMLElement | null): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || list === null) return;
  event.preventDefault();
  event.stopPropagation();
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.findIndex((button) => button === document.activeElement);
  buttons[Math.max(0, Math.min(buttons.length - 1, at + step))]?.focus();
}

interface SidesProps {
  conversation: Conversation;
  depth: number;
  now: number;
  onChoose: (conversation: string) => void;
}

/** Side traffic of a conversation; the history lists each request. */
function Sides({ conversation, depth, now, onChoose }: SidesProps) {
  return sideLines(conversation).map(({ class: of, figures, what, last }) => (
    <button
      key={of}
      type="button"
      className={styles.side}
      data-depth={Math.min(depth + 1, 3)}
      onClick={() => {
        onChoose(conversation.id);
        go({ conversation: conversation.id, view: "history", open: null, at: null });
      }}
    >
      <span>{figures}</span>
      <time className={styles.when} title={moment(last)}>
        {ago(last, now)}
      </time>
      <span className={styles.what}>{what}</span>
    </button>
  ));
}

interface EntryProps {
  conversation: Conversation;
  depth: number;
  now: number;
  current: boolean;
  onChoose: (conversation: string) => void;
}

function EntryButton({ conversation, depth, now, current, onChoose }: EntryProps) {
  const { id, active, title, owner, folder, last_activity, client, agent, forked_from, frames, calibrated } = conversation;
  const who =
    conversation.class === "subagent" ? `sub-agent${agent === null ? "" : ` ${agent.slice(0, 8)}`}` : agentName(client);
  return (
    <button
      type="button"
      className={styles.entry}
      data-depth={Math.min(depth, 3)}
      aria-current={current}
      onClick={() => onChoose(id)}
    >
      <span className={styles.first}>
        {active && (
          <Tooltip label="Active: used most recently">
            <span className={styles.active} role="img" aria-label="active" />
          </Tooltip>
        )}
        <bdi className={styles.title} title={title}>
          {title || "Untitled"}
        </bdi>
        <time className={styles.when} title={moment(last_activity)}>
          {ago(last_activity, now)}
        </time>
      </span>
      <span className={styles.second}>
        {folder !== null && depth === 0 && (
          <bdi className={styles.folder} title={folder}>
            {folderName(folder)}
          </bdi>
        )}
        {owner != null && <span className={styles.owner}>from {owner}</span>}
        {who !== null && <span className={styles.who}>{who}</span>}
        {!["main", "subagent"].includes(conversation.class) && <span>{conversation.class}</span>}
        {forked_from !== null && <span>fork of {forked_from}</span>}
        <span className={styles.tokens} title={`${plural(frames, "frame")}, ${id}`}>
          {tokens(conversation.tokens, calibrated)} tokens
        </span>
      </span>
    </button>
  );
}
